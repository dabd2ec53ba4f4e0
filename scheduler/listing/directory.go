package listing

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/quorate/quorate/scheduler"
)

// ErrNotFound is wrapped by errors about things that are not there.
var ErrNotFound = errors.New("not found")

// A Directory knows the jobs of a cluster by the names they have and had. The
// nodes know a job by its key: what it was called first.
type Directory struct {
	Versions []scheduler.Version
	Keys     []string                     // of all jobs, sorted by their names
	Last     map[string]scheduler.Version // by key: the last published
	// Gap is the *scheduler.PartialError of what could not be read; nil: nothing.
	Gap error

	keyOf map[string]string // by name
}

// Directory reads what the replicas have published, or returns what is kept of it,
// which is not to be changed.
func (r Reader) Directory(ctx context.Context) (Directory, error) {
	return r.Kept.get(ctx, r.directory)
}

func (r Reader) directory(ctx context.Context) (Directory, error) {
	published, err := r.Roster.Jobs(ctx)
	if Whole(err) != nil {
		return Directory{}, err
	}
	live, missing := r.Roster.Replicas(ctx)
	if Whole(missing) != nil {
		return Directory{}, missing
	}
	if missing != nil {
		err = missing
	}
	d := newDirectory(scheduler.Versions(published, live))
	d.Gap = err
	return d, nil
}

func newDirectory(versions []scheduler.Version) Directory {
	d := Directory{Versions: versions, Last: map[string]scheduler.Version{}, keyOf: map[string]string{}}
	for _, v := range versions {
		key := v.StoredAs()
		if last, ok := d.Last[key]; !ok || v.Published.After(last.Published) {
			if !ok {
				d.Keys = append(d.Keys, key)
			}
			d.Last[key] = v
		}
		d.keyOf[v.Name] = key
	}
	return d
}

// Key is what the nodes know a job by that is, or was first, called name.
func (d Directory) Key(name string) string {
	if key, ok := d.keyOf[name]; ok {
		return key
	}
	return name
}

// of returns the versions of the named jobs; of all if there are no names.
func (d Directory) of(names []string) []scheduler.Version {
	if len(names) == 0 {
		return d.Versions
	}
	keys := map[string]bool{}
	for _, name := range names {
		keys[d.Key(name)] = true
	}
	return slices.DeleteFunc(slices.Clone(d.Versions), func(v scheduler.Version) bool { return !keys[v.StoredAs()] })
}

// named puts the name that the job has now on an entry.
func (d Directory) named(e scheduler.Entry) scheduler.Entry {
	if v, ok := d.Last[e.Job]; ok {
		e.Job = v.Name
	}
	return e
}

// namedAll does so in place.
func (d Directory) namedAll(entries []scheduler.Entry) []scheduler.Entry {
	for i, e := range entries {
		entries[i] = d.named(e)
	}
	return entries
}

// Served tells whether a live replica serves the job with the key.
func (d Directory) Served(key string) bool {
	return slices.ContainsFunc(d.Versions, func(v scheduler.Version) bool { return v.Live && v.StoredAs() == key })
}

// Require returns ErrNotFound unless the cluster has heard of the job with the
// key, or Gap if that may hide it.
func (d Directory) Require(key string) error {
	if _, ok := d.Last[key]; ok {
		return nil
	}
	if partial, ok := errors.AsType[*scheduler.PartialError](d.Gap); ok && partial.Lacks(key) {
		return partial
	}
	return fmt.Errorf("job %q %w on these nodes; quorate jobs lists them", key, ErrNotFound)
}

// Whole returns err unless it comes with a part of the answer.
func Whole(err error) error {
	if _, partial := errors.AsType[*scheduler.PartialError](err); partial {
		return nil
	}
	return err
}

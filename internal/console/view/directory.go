package view

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/quorate/quorate/scheduler"
	"github.com/quorate/quorate/scheduler/ledger"
)

// ErrNotFound is wrapped by errors about things that do not exist.
var ErrNotFound = errors.New("not found")

// A Directory knows the jobs of a cluster by their current and former names. The nodes
// know a job by its key: its first name.
type Directory struct {
	Versions []scheduler.Version
	Keys     []string                     // of all jobs, sorted by name
	Last     map[string]scheduler.Version // by key: the version published last

	keyOf map[string]string // by name
}

// Directory reads what the replicas have published, or returns the cached directory.
// Callers must not change it.
func (r Reader) Directory(ctx context.Context) (Directory, error) {
	return r.Cache.get(ctx, func(ctx context.Context) (Directory, error) {
		published, err := r.Roster.Jobs(ctx)
		if err != nil {
			return Directory{}, err
		}
		live, err := r.Roster.Replicas(ctx)
		if err != nil {
			return Directory{}, err
		}
		versions, err := scheduler.Versions(published, live, func(hash string) (scheduler.JobSet, error) { return r.storedSet(ctx, hash) })
		return newDirectory(versions), err
	})
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

// Key returns the key of the job that is or was called name.
func (d Directory) Key(name string) string {
	if key, ok := d.keyOf[name]; ok {
		return key
	}
	return name
}

// of returns the versions of the named jobs, or of all jobs without names.
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

// named sets the entry's job to its current name.
func (d Directory) named(e ledger.Entry) ledger.Entry {
	if v, ok := d.Last[e.Job]; ok {
		e.Job = v.Name
	}
	return e
}

// namedAll does that in place.
func (d Directory) namedAll(entries []ledger.Entry) []ledger.Entry {
	for i, e := range entries {
		entries[i] = d.named(e)
	}
	return entries
}

// Served reports whether a live replica serves the job with the key.
func (d Directory) Served(key string) bool {
	return slices.ContainsFunc(d.Versions, func(v scheduler.Version) bool { return v.Live && v.StoredAs() == key })
}

// Require returns ErrNotFound unless the directory has a job with the key.
func (d Directory) Require(key string) error {
	if _, ok := d.Last[key]; ok {
		return nil
	}
	return fmt.Errorf("job %q %w in this cluster; quorate jobs lists them", key, ErrNotFound)
}

// rowsOf turns what was read into rows.
func rowsOf[T, R any](list []T, err error, row func(T) R) ([]R, error) {
	if err != nil {
		return nil, err
	}
	rows := make([]R, len(list))
	for i, one := range list {
		rows[i] = row(one)
	}
	return rows, nil
}

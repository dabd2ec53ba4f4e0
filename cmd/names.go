package cmd

import (
	"context"
	"fmt"

	"github.com/quorate/quorate/scheduler"
)

// A directory knows the jobs of a cluster by the names they have and had. The
// nodes know a job by its key: what it was called first.
type directory struct {
	versions []scheduler.Version
	keys     []string                     // of all jobs, sorted by their names
	last     map[string]scheduler.Version // by key: the last published
	keyOf    map[string]string            // by name
	gap      *gap                         // what could not be read; nil: nothing
}

// directory reads what the replicas have published.
func (c cluster) directory(ctx context.Context) (directory, error) {
	published, err := c.ledger.Jobs(ctx)
	if err != nil {
		return directory{}, err
	}
	live, err := c.ledger.Replicas(ctx)
	if err != nil {
		return directory{}, err
	}
	d := newDirectory(scheduler.Versions(published, live))
	d.gap = c.lacking
	return d, nil
}

func newDirectory(versions []scheduler.Version) directory {
	d := directory{versions: versions, last: map[string]scheduler.Version{}, keyOf: map[string]string{}}
	for _, v := range versions {
		key := v.StoredAs()
		if last, ok := d.last[key]; !ok || v.Published.After(last.Published) {
			if !ok {
				d.keys = append(d.keys, key)
			}
			d.last[key] = v
		}
		d.keyOf[v.Name] = key
	}
	return d
}

// key is what the nodes know a job by that is, or was first, called name.
func (d directory) key(name string) string {
	if key, ok := d.keyOf[name]; ok {
		return key
	}
	return name
}

// named puts the name that the job has now on its entries.
func (d directory) named(entries []scheduler.Entry) []scheduler.Entry {
	for i, e := range entries {
		if v, ok := d.last[e.Job]; ok {
			entries[i].Job = v.Name
		}
	}
	return entries
}

// require returns errNotFound unless the cluster has heard of the job.
func (d directory) require(key string) error {
	if _, ok := d.last[key]; ok {
		return nil
	}
	if d.gap != nil {
		if err := d.gap.require(key); err != nil {
			return err
		}
	}
	return fmt.Errorf("job %q %w on these nodes; quorate jobs lists them", key, errNotFound)
}

package pages

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/scheduler/ledger"
)

// A clusterData is what a page of many jobs has read. Parts that could not be read, or that the page does not
// need, are empty.
type clusterData struct {
	*visit
	grid
	nodes     []view.Node
	replicas  view.Page[view.Replica]
	directory view.Directory
	open      view.OpenCommands
	newest    map[string]time.Time // of each job, the newest entry
	inNeed    []view.JobInNeed
	trouble   map[string]view.Past // of all jobs, without what ended as it should
	next      []view.Next          // of each served job
	shown     []string             // the keys of those that are shown
	past      map[string]view.Past // of these, all
	unknown   error                // why the rest is empty
}

// readCluster reads how all jobs are, and what became of the ticks of those that are chosen; in parallel to that it
// reads the other parts.
func readCluster(ctx context.Context, v *visit, past *view.Survey, choose func(*clusterData) []string, others ...func(*clusterData) error) *clusterData {
	data := &clusterData{visit: v}
	var mu sync.Mutex
	var wg sync.WaitGroup
	part := func(read func() error) {
		wg.Go(func() {
			if err := read(); err != nil {
				mu.Lock()
				defer mu.Unlock()
				data.unknown = err
			}
		})
	}
	for _, read := range others {
		part(func() error { return read(data) })
	}
	part(func() error { return data.readJobs(ctx, past, choose) })
	wg.Wait()
	if data.unknown != nil || !v.Stale.IsZero() { // none of them starts before the nodes answer again
		data.next = nil
	}
	return data
}

// readJobs reads what is paused, which jobs are in need, the trouble of all, and what became of the ticks of those that
// are chosen.
func (data *clusterData) readJobs(ctx context.Context, past *view.Survey, choose func(*clusterData) []string) (err error) {
	control := data.p.cfg.Control
	data.directory, err = lastKnown(data.visit, "directory", func() (view.Directory, error) { return control.Directory(ctx) })
	if err != nil {
		return err
	}
	data.open, err = lastKnown(data.visit, "open", func() (view.OpenCommands, error) { return control.OpenCommands(ctx) })
	if err != nil {
		return err
	}
	// Without the newest entries nothing else is read: a Survey would take the silence for rest.
	newest, away := control.Newest(ctx, data.directory.Keys)
	data.newest, err = lastKnown(data.visit, "newest", func() (map[string]time.Time, error) { return newest, away })
	if err != nil {
		return err
	}
	data.inNeed, err = lastKnown(data.visit, "in need", func() ([]view.JobInNeed, error) {
		if away != nil {
			return nil, away
		}
		return control.InNeed(ctx, newest, data.Now)
	})
	if err != nil {
		return err
	}
	survey := func(name string, s *view.Survey, keys []string) (map[string]view.Past, error) {
		found, err := lastKnown(data.visit, name, func() (map[string]view.Past, error) {
			if away != nil {
				return nil, away
			}
			return s.Read(ctx, control.Reader, keys, newest, data.Now)
		})
		of := map[string]view.Past{} // what is from an earlier time may be of other jobs
		for _, key := range keys {
			if p, known := found[key]; known {
				of[key] = p
			}
		}
		return of, err
	}
	if data.trouble, err = survey("trouble", &data.p.trouble, data.directory.Keys); err != nil {
		return err
	}
	data.next = control.Soonest(data.directory, data.open, data.Now)
	data.shown = choose(data)
	data.past, err = survey("past of "+data.page.name, past, data.shown)
	return err
}

// byTrouble are the keys of all jobs: those in need, then those with trouble, the latest first; at the end those
// without a tick.
func (data *clusterData) byTrouble() []string {
	keys := slices.Clone(data.directory.Keys)
	need := map[string]int{}
	for i, j := range data.inNeed {
		need[data.directory.Key(j.Job)] = len(data.inNeed) - i
	}
	last := func(key string) (at time.Time) {
		for _, e := range data.trouble[key].Events {
			if e.Outcome != ledger.Running {
				return e.At
			}
		}
		return at
	}
	slices.SortStableFunc(keys, func(x, y string) int {
		if order := cmp.Or(cmp.Compare(need[y], need[x]), last(y).Compare(last(x))); order != 0 || data.newest[x].IsZero() == data.newest[y].IsZero() {
			return order
		}
		if data.newest[x].IsZero() {
			return 1
		}
		return -1
	})
	return keys
}

// needOf finds a job in need.
func (data *clusterData) needOf(key string) (need view.JobInNeed, is bool) {
	i := slices.IndexFunc(data.inNeed, func(j view.JobInNeed) bool { return data.directory.Key(j.Job) == key })
	if i < 0 {
		return need, false
	}
	return data.inNeed[i], true
}

// nameOf is the current name of the job with a key.
func (data *clusterData) nameOf(key string) string { return data.directory.Last[key].Name }

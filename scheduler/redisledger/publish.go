package redisledger

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/quorate/quorate/locking/redlock/nodes"
	"github.com/quorate/quorate/scheduler"
)

const (
	// keepJobs is how long a version of a job stays published after the last
	// replica that served it. Housekeeping forgets jobs earlier.
	keepJobs = 400 * 24 * time.Hour
	// publishAtOnce is how many versions go into one message, so that a large
	// set does not keep a node from voting.
	publishAtOnce = 500
)

// Publish implements [scheduler.Roster].
func (l *Ledger) Publish(ctx context.Context, jobs []scheduler.JobInfo) error {
	for some := range slices.Chunk(jobs, publishAtOnce) {
		var args []any
		for _, j := range some {
			b, err := json.Marshal(j)
			if err != nil {
				return fmt.Errorf("encoding job %s: %w", j.Name, err)
			}
			args = append(args, version(j), b)
		}
		if _, err := l.call(ctx, "publishing the jobs", l.lua.publish, "jobs", args...); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// Unpublish implements [scheduler.Roster].
func (l *Ledger) Unpublish(ctx context.Context, jobs []scheduler.JobInfo) error {
	for some := range slices.Chunk(jobs, publishAtOnce) {
		var names []any
		for _, j := range some {
			names = append(names, version(j))
		}
		if _, err := l.call(ctx, "taking jobs off the list", l.lua.leave, "jobs", names...); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// version is what a version of a job is kept under. Releases that knew one
// version of each job used its name.
func version(j scheduler.JobInfo) string {
	if j.Hash == "" {
		return j.Name
	}
	return j.Name + "|" + j.Hash
}

// Jobs implements [scheduler.Roster].
func (l *Ledger) Jobs(ctx context.Context) ([]scheduler.JobInfo, error) {
	const doing = "listing the jobs"
	replies, err := l.call(ctx, doing, l.lua.published, "jobs", keepJobs.Milliseconds())
	if err != nil {
		return nil, err
	}
	known := map[string]scheduler.JobInfo{}
	for _, reply := range replies {
		for pair := range slices.Chunk(reply.Args, 2) {
			j, err := decodeJob(pair)
			if err != nil {
				return nil, fmt.Errorf("%s: %s holds what is no job of this release: %w", doing, reply.Node, err)
			}
			known[version(j)] = fresher(known, j)
		}
	}
	return sortJobs(known), nil
}

// fresher is what two nodes say of one version together.
func fresher(known map[string]scheduler.JobInfo, j scheduler.JobInfo) scheduler.JobInfo {
	have, ok := known[version(j)]
	if !ok {
		return j
	}
	age := min(j.Age, have.Age)
	if have.Published.After(j.Published) {
		j = have
	}
	j.Age = age
	return j
}

func decodeJob(pair []string) (j scheduler.JobInfo, err error) {
	if len(pair) != 2 {
		return j, fmt.Errorf("%q stands alone", pair)
	}
	age, err := strconv.ParseInt(pair[0], 10, 64)
	if err != nil {
		return j, err
	}
	err = json.Unmarshal([]byte(pair[1]), &j)
	j.Age = max(0, time.Duration(age)*time.Millisecond)
	return j, err
}

// sortJobs lists versions by name, the last published of each first.
func sortJobs(known map[string]scheduler.JobInfo) []scheduler.JobInfo {
	list := make([]scheduler.JobInfo, 0, len(known))
	for _, j := range known {
		list = append(list, j)
	}
	slices.SortFunc(list, func(a, b scheduler.JobInfo) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), b.Published.Compare(a.Published), strings.Compare(a.Hash, b.Hash))
	})
	return list
}

func (l *Ledger) call(ctx context.Context, doing string, script *nodes.Script, key string, args ...any) ([]nodes.Reply, error) {
	return answers(l.set, doing, l.set.Call(ctx, script, []string{l.set.Key(key)}, args...))
}

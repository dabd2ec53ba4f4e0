// Package job has what the engine knows of a job before it runs anything: its definition
// and policies, its ticks, and the verdicts on ticks that do not run. Package scheduler
// exports what programs need of it under its own name.
package job

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/quorate/quorate/scheduler/ledger"
	"github.com/quorate/quorate/scheduler/schedule"
)

// A Job is a checked definition, with its key, its hash and the defaults of its policies. It
// never changes, so all goroutines may share it.
type Job struct{ Definition }

// New returns the job of a definition that Validate accepts.
func New(d Definition) *Job {
	d.Hash = d.hash()
	d.Key = d.storedAs()
	d.Timeout = cmp.Or(d.Timeout, DefaultTimeout)
	d.CatchUp, d.Retry = d.CatchUp.withDefaults(), d.Retry.withDefaults()
	return &Job{d}
}

// List returns the jobs of definitions that Validate accepts.
func List(all []Definition) []*Job {
	list := make([]*Job, len(all))
	for i, d := range all {
		list[i] = New(d)
	}
	return list
}

// StoredAs is the name under which the nodes store the job's data.
func (j *Job) StoredAs() string { return j.storedAs() }

// RenamedFrom is the key if it differs from the name.
func (j *Job) RenamedFrom() string {
	if j.StoredAs() == j.Name {
		return ""
	}
	return j.Key
}

// ShownSettings is the result of Settings or, without it, what listings show of a job.
func (j *Job) ShownSettings() any {
	if j.Settings != nil {
		return j.Settings()
	}
	return map[string]any{
		"func": j.Func, "schedule": j.Spec, "timezone": j.Timezone, "description": j.Description, "tags": j.Tags,
		"paused": j.Paused, "timeout": j.Timeout.String(), "overlap": j.Overlap, "jitter": j.Jitter.String(),
	}
}

// A job with labels runs on replicas that have all of them. The others do not claim its
// ticks, and are left out of its ranks.

// Fits reports whether a replica with the labels has may run a job with the labels wants.
func Fits(has, wants map[string]string) bool {
	for key, value := range wants {
		if have, ok := has[key]; !ok || have != value {
			return false
		}
	}
	return true
}

// LabelText returns the labels in order: zone=a, gpu=yes.
func LabelText(labels map[string]string) string {
	var words []string
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		words = append(words, key+"="+labels[key])
	}
	return strings.Join(words, ", ")
}

// A group bounds how many runs of its jobs the cluster has at once. It has numbered slots,
// each a plain lock. A run holds and extends one, so the slot of a dead replica is free
// again when its lease ends.
//
// Replicas with another size for the group, as during a roll-out, share the slots with
// smaller numbers: the largest size bounds the runs.

// SlotName is the name of a slot's lock. Job names have no colon, so it is no job's.
func SlotName(group string, number int) string {
	return "group:" + group + ":" + strconv.Itoa(number)
}

// validateGroups returns what is wrong with the jobs' groups.
func validateGroups(list []Definition) error {
	var errs []error
	first := map[string]Definition{}
	for _, j := range list {
		if j.Group == "" {
			continue
		}
		if j.GroupSize < 1 {
			errs = append(errs, fmt.Errorf("scheduler: job %q is in group %q of size %d: it needs at least 1", j.Name, j.Group, j.GroupSize))
		}
		if other, seen := first[j.Group]; seen && other.GroupSize != j.GroupSize {
			errs = append(errs, fmt.Errorf("scheduler: group %q has size %d for job %q and %d for job %q: give it one",
				j.Group, other.GroupSize, other.Name, j.GroupSize, j.Name))
		} else if !seen {
			first[j.Group] = j
		}
	}
	return errors.Join(errs...)
}

// A run triggers the jobs that its own job names for its outcome, before its lease is
// released. So when the ledger knows the outcome, the request exists, or Reason says why
// not. The request's id is made of the run's id and the job's key: asking again has no
// effect.

// Follows returns the keys of the jobs to run after a run with this outcome. A run that was
// cancelled, skipped or interrupted, or lost its lease, has neither succeeded nor failed.
func (j *Job) Follows(o ledger.Outcome) []string {
	switch o {
	case ledger.Succeeded:
		return j.OnSuccess
	case ledger.Failed, ledger.TimedOut:
		return j.OnFailure
	}
	return nil
}

// ChainID is the id of a run's request for the job with the key. Command.Ready accepts its form for such
// requests alone, so nobody can use up the id. The function finish_run on PostgreSQL makes the same.
func ChainID(run, key string) string {
	sum := sha256.Sum256([]byte(run + "+" + key))
	return "+" + hex.EncodeToString(sum[:16])
}

// validateChains checks that chains lead to jobs of the list, and end.
func validateChains(list []Definition) error {
	var errs []error
	chains := make(map[string][]string, len(list))
	for _, j := range list {
		chains[j.storedAs()] = slices.Concat(j.OnSuccess, j.OnFailure)
	}
	for _, j := range list {
		for _, key := range chains[j.storedAs()] {
			if _, ok := chains[key]; !ok {
				errs = append(errs, fmt.Errorf("scheduler: job %q triggers %q, which is not a job: write the key of a job", j.Name, key))
			}
		}
	}
	if circle := ChainCircle(chains); circle != nil {
		errs = append(errs, fmt.Errorf("scheduler: jobs trigger each other without end: %s", strings.Join(circle, " → ")))
	}
	return errors.Join(errs...)
}

// ChainCircle returns jobs that trigger each other in a circle, the first one again at the
// end, or nil if all chains end. chains lists what each job triggers.
func ChainCircle(chains map[string][]string) []string {
	done := map[string]bool{}
	var walk func(path []string) []string
	walk = func(path []string) []string {
		last := path[len(path)-1]
		if i := slices.Index(path, last); i < len(path)-1 {
			return path[i:]
		}
		if done[last] {
			return nil
		}
		for _, next := range chains[last] {
			if circle := walk(append(slices.Clip(path), next)); circle != nil {
				return circle
			}
		}
		done[last] = true
		return nil
	}
	for _, job := range slices.Sorted(maps.Keys(chains)) {
		if circle := walk([]string{job}); circle != nil {
			return circle
		}
	}
	return nil
}

// hashBytes is how much of a hash is kept: enough to tell versions of a job apart, short
// enough to read aloud.
const hashBytes = 6

// hash is Hash. If that is empty, it is made of everything that can be encoded: all
// fields but Name, Key, Handler and Bind, and the definition of the Schedule.
func (d *Definition) hash() string {
	if d.Hash != "" {
		return d.Hash
	}
	ticks, nameless := written(d.Schedule), *d
	nameless.Name, nameless.Key = "", ""
	text, err := json.Marshal(&nameless)
	if err != nil {
		return "" // a field cannot be encoded: the version is unknown
	}
	return digest(string(text), ticks)
}

// written is the definition of a schedule, or its first ticks if it has none.
func written(s schedule.Schedule) string {
	if text, err := schedule.Definition(s); err == nil {
		return text
	}
	return firstTicks(s)
}

// firstTicks distinguishes schedules without a definition by some ticks after each of
// several instants: midnight of each day and of the second of March begin alike. It sees
// nothing of schedules that end earlier: give such jobs a Spec or a Hash.
func firstTicks(s schedule.Schedule) string {
	var ticks []time.Time
	for _, year := range []int{2020, 2026, 2030} {
		at := time.Date(year, time.March, 1, 0, 0, 0, 0, time.UTC)
		for range 4 {
			if at = s.Next(at); at.IsZero() {
				break
			}
			ticks = append(ticks, at)
		}
	}
	return fmt.Sprint(ticks)
}

// SetHash is the hash of a set of jobs, also of their functions.
func SetHash(list []*Job) string {
	versions := make([]string, len(list))
	for i, j := range list {
		versions[i] = j.Name + "|" + j.Key + "|" + j.Hash
		if j.Code != "" {
			versions[i] += "|" + j.Code
		}
	}
	slices.Sort(versions)
	return digest(versions...)
}

func digest(texts ...string) string {
	h := sha256.New()
	for _, text := range texts {
		fmt.Fprintf(h, "%d:%s", len(text), text)
	}
	return hex.EncodeToString(h.Sum(nil)[:hashBytes])
}

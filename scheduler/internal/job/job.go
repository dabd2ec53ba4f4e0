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

	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/locking/fence"
	"github.com/quorate/quorate/scheduler/commands"
	"github.com/quorate/quorate/scheduler/ledger"
	"github.com/quorate/quorate/scheduler/schedule"
)

// A Job is a checked job, with its schedule, its key, its hash and the defaults of its policies.
// It never changes, so all goroutines may share it.
type Job struct{ jobs.Job }

// New returns a job that Validate accepts.
func New(j jobs.Job) *Job {
	j.Schedule, _ = ticksOf(&j)
	j.Hash = hash(j)
	j.Key = j.StoredAs()
	j.Timeout = cmp.Or(j.Timeout, jobs.DefaultTimeout)
	j.CatchUp, j.Retry = j.CatchUp.WithDefaults(), j.Retry.WithDefaults()
	j.Retry.AttemptTimeout, j.History.MaxAge = max(j.Retry.AttemptTimeout, 0), max(j.History.MaxAge, 0) // jobs.None
	return &Job{j}
}

// List returns jobs that Validate accepts, with the keys of those that they trigger.
func List(all []jobs.Job) []*Job {
	keys := keysByName(all)
	list := make([]*Job, len(all))
	for i, j := range all {
		list[i] = New(j)
		list[i].OnSuccess, list[i].OnFailure = keysOf(j.OnSuccess, keys), keysOf(j.OnFailure, keys)
	}
	return list
}

func keysOf(names []string, keys map[string]string) []string {
	if len(keys) == 0 {
		return names
	}
	var list []string
	for _, name := range names {
		list = append(list, keyOf(name, keys))
	}
	return list
}

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

// hashBytes is how much of a hash is kept: enough to tell versions of a job apart, short
// enough to read aloud.
const hashBytes = 6

// hashed are the fields that a hash is made of. Their order stays, whatever that of the type, since
// replicas of two releases compare their hashes.
var hashed = []string{
	"Name", "Key", "Timeout", "Jitter", "Overlap", "CatchUp", "OnCrash", "Retry", "Labels", "Group", "GroupSize", "Priority",
	"Tags", "Paused", "OnSuccess", "OnFailure", "LateAfter", "History", "Hash", "Func", "Spec", "Timezone", "Description",
}

// hash is Hash. If that is empty, it is made of everything that can be encoded: all
// fields but Name, Key, Handler and Bind, and the definition of the Schedule.
func hash(j jobs.Job) string {
	if j.Hash != "" {
		return j.Hash
	}
	j.Name, j.Key = "", ""
	var fields map[string]json.RawMessage
	text, err := json.Marshal(&j)
	if err == nil {
		err = json.Unmarshal(text, &fields)
	}
	if err != nil {
		return "" // a field cannot be encoded: the version is unknown
	}
	parts := make([]string, len(hashed))
	for i, name := range hashed {
		parts[i] = strconv.Quote(name) + ":" + string(fields[name])
	}
	definition := []string{"{" + strings.Join(parts, ",") + "}", written(j.Schedule)}
	if len(j.Params) > 0 {
		definition = append(definition, string(fields["Params"]))
	}
	return digest(definition...)
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

// overlaps has the policies in the order of the documentation, with their traits. The
// engine uses only the traits.
var overlaps = []struct {
	name jobs.Overlap
	Traits
}{
	{jobs.OverlapSkip, Traits{}},
	{jobs.OverlapQueue, Traits{Patient: true, Queues: true}},
	{jobs.OverlapCancelPrevious, Traits{Patient: true, Replaces: true}},
	{jobs.OverlapAllow, Traits{Beside: true}},
}

// Traits are the effects of an overlap policy on a tick that comes during a run.
type Traits struct {
	Patient  bool // it waits until the next tick comes, not only within its window
	Queues   bool // it is skipped because that tick comes, not because of the run
	Replaces bool // it cancels the run
	Beside   bool // it does not wait: the runs overlap
}

// Traits returns those of the overlap policy; none if it is unknown, which Validate refuses.
func (j *Job) Traits() Traits {
	for _, known := range overlaps {
		if known.name == j.Overlap {
			return known.Traits
		}
	}
	return Traits{}
}

// Mode is how often the job's ticks may be claimed.
func (j *Job) Mode() locking.Mode {
	if j.OnCrash == jobs.CrashRerun {
		return locking.AtLeastOnce
	}
	return locking.AtMostOnce
}

// RetryPause is the time between the given call and the next, with "equal jitter": half of it is
// fixed.
func (j *Job) RetryPause(call int, random func(time.Duration) time.Duration) time.Duration {
	limit, most := j.Retry.Backoff, j.Retry.MaxBackoff
	for i := 1; i < call && limit < most; i++ {
		limit = min(2*limit, most)
	}
	half := limit / 2
	return limit - half + random(half+1)
}

// Retries reports whether a call that ended with err is followed by another.
func (j *Job) Retries(call int, err error) bool {
	_, skipped := errors.AsType[*jobs.SkipError](err)
	switch {
	case err == nil, skipped, jobs.IsPermanent(err):
		return false
	case errors.Is(err, fence.ErrStale):
		return false // the next call would write with the same token
	}
	return call < j.Retry.Attempts
}

// CheckParams returns a *commands.Error if the job refuses the params of a request.
func (j *Job) CheckParams(params json.RawMessage) error {
	if len(params) == 0 {
		return nil
	}
	if _, err := j.BindParams(params); err != nil {
		return &commands.Error{Kind: commands.Trigger, Msg: fmt.Sprintf("params: %v", err)}
	}
	return nil
}

// BindParams returns the function with the params of a request.
func (j *Job) BindParams(text json.RawMessage) (jobs.Handler, error) {
	if j.Bind == nil {
		return nil, errors.New("the job takes none with a request")
	}
	params, err := commands.DecodeParams(text)
	if err != nil {
		return nil, err
	}
	return j.Bind(params)
}

// PublishedParams describes the params that a request may have, for publication.
func (j *Job) PublishedParams() *jobs.Shape {
	if j.Bind == nil {
		return jobs.NoShape()
	}
	return j.Shape
}

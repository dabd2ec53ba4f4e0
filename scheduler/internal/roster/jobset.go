package roster

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/quorate/quorate/scheduler/internal/job"
)

// A JobSet describes the jobs of a Replica.ConfigHash, for people who compare replicas.
type JobSet struct {
	Count int       // the number of jobs
	Jobs  []JobText // sorted by Key; none if they are too many to be stored
}

// A JobText is one job of a set.
type JobText struct {
	Name string `json:"name"`
	Key  string `json:"key"` // the name it had first, under which the nodes store its data
	Hash string `json:"hash"`
	// Code is the function in the program, if the job has one of its own.
	Code string `json:"code,omitempty"`
	// Settings are in effect, without secrets: an object.
	Settings any `json:"settings"`
}

// Bounds of a stored set, before and after compression.
const (
	MaxJobSet    = 1 << 20
	maxPackedSet = 128 << 10
)

// ErrNoJobSet is returned for a set that nobody has stored, or renewed for a day.
var ErrNoJobSet = errors.New("the set of jobs is not known")

// JobSets store sets of jobs by their hash, for a day after the last renewal. Like a Roster
// they are a hint: nothing that runs depends on them.
type JobSets interface {
	// RenewSet says that the set is still served, and reports whether it is stored
	// everywhere. Otherwise call KeepSet.
	RenewSet(ctx context.Context, hash string) (kept bool, err error)
	// KeepSet stores a set that PackJobs wrote.
	KeepSet(ctx context.Context, hash string, packed []byte) error
	// JobSet returns a stored set, or ErrNoJobSet.
	JobSet(ctx context.Context, hash string) (packed []byte, err error)
}

// PackJobs writes a set of count jobs, in the order of their keys, for UnpackJobs. Of a set
// that is too large it writes only the count.
func PackJobs(count int, jobs iter.Seq[JobText]) ([]byte, error) {
	packed, err := pack(count, jobs)
	if errors.Is(err, ErrSetTooLarge) {
		return pack(count, func(func(JobText) bool) {})
	}
	return packed, err
}

// A packedHead precedes the jobs, one a line. The nodes store it, and JobText: only add
// optional fields.
type packedHead struct {
	Count int `json:"count"`
}

func pack(count int, jobs iter.Seq[JobText]) ([]byte, error) {
	var b bytes.Buffer
	zip := gzip.NewWriter(&b)
	enc := json.NewEncoder(&bounded{to: zip, left: MaxJobSet})
	enc.SetEscapeHTML(false)
	if err := enc.Encode(packedHead{count}); err != nil {
		return nil, err
	}
	for j := range jobs {
		if err := enc.Encode(j); err != nil {
			return nil, fmt.Errorf("writing down job %s: %w", j.Name, err)
		}
		if b.Len() > maxPackedSet {
			return nil, ErrSetTooLarge
		}
	}
	if err := zip.Close(); err != nil {
		return nil, err
	}
	if b.Len() > maxPackedSet {
		return nil, ErrSetTooLarge
	}
	return b.Bytes(), nil
}

// bounded is a writer with a size limit.
type bounded struct {
	to   io.Writer
	left int
}

func (w *bounded) Write(b []byte) (int, error) {
	if w.left -= len(b); w.left < 0 {
		return 0, ErrSetTooLarge
	}
	return w.to.Write(b)
}

// UnpackJobs reads what PackJobs wrote. Numbers in settings are json.Numbers.
func UnpackJobs(packed []byte) (JobSet, error) {
	zip, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return JobSet{}, fmt.Errorf("reading a set of jobs: %w", err)
	}
	dec := json.NewDecoder(bufio.NewReader(io.LimitReader(zip, MaxJobSet)))
	dec.UseNumber()
	var head packedHead
	if err := dec.Decode(&head); err != nil {
		return JobSet{}, fmt.Errorf("reading a set of jobs: %w", err)
	}
	set := JobSet{Count: head.Count}
	for {
		var j JobText
		switch err := dec.Decode(&j); {
		case errors.Is(err, io.EOF):
			return set, nil
		case err != nil:
			return JobSet{}, fmt.Errorf("reading a set of jobs: %w", err)
		}
		set.Jobs = append(set.Jobs, j)
	}
}

// Texts describes the jobs, in the order of their keys.
func Texts(list []*job.Job) iter.Seq[JobText] {
	sorted := slices.SortedFunc(slices.Values(list), func(x, y *job.Job) int { return strings.Compare(x.Key, y.Key) })
	return func(yield func(JobText) bool) {
		for _, j := range sorted {
			if !yield(JobText{Name: j.Name, Key: j.Key, Hash: j.Hash, Code: j.Code, Settings: j.ShownSettings()}) {
				return
			}
		}
	}
}

// Calm is how long no replica starts, stops or drains, and neither of two changes its jobs, until
// different jobs under one name are told: during a roll-out there are some.
const Calm = 2 * time.Minute

// ErrSetTooLarge says that a set of jobs is stored without its jobs.
var ErrSetTooLarge = errors.New("the set of jobs is too large to be kept")

// Strangers returns, for each of the live replicas, the jobs that another one serves in another way,
// by name, sorted. There are none while a start, a drain or a change of jobs may explain it.
// read returns a set of jobs; those that cannot be read are not compared.
func Strangers(live []Replica, now time.Time, read func(hash string) (JobSet, error)) [][]string {
	names := make([][]string, len(live))
	first := make([]int, len(live)) // the first replica with the same program and set
	for i, r := range live {
		if r.State == StateDraining || now.Sub(r.Started) < Calm {
			return make([][]string, len(live))
		}
		first[i] = slices.IndexFunc(live, func(k Replica) bool { return k.Program == r.Program && k.ConfigHash == r.ConfigHash })
		for j := range first[:i] {
			if first[i] != i || first[j] != j || !MayBeApart(live[j], r, now) {
				continue
			}
			apart, _ := Apart(live[j], r, read)
			names[i], names[j] = append(names[i], apart...), append(names[j], apart...)
		}
	}
	for i := range names {
		names[i] = slices.Clone(names[first[i]])
		slices.Sort(names[i])
		names[i] = slices.Compact(names[i])
	}
	return names
}

// OtherPrograms reports whether two replicas run different programs, as far as they say so.
func OtherPrograms(a, b Replica) bool {
	return a.Program != b.Program && a.Program != "" && b.Program != ""
}

// MayBeApart reports whether two live replicas may serve jobs in different ways, and neither has
// changed its jobs so lately that this explains it.
func MayBeApart(a, b Replica, now time.Time) bool {
	return OtherPrograms(a, b) || a.ConfigHash != b.ConfigHash && now.Sub(a.ConfigSince) >= Calm && now.Sub(b.ConfigSince) >= Calm
}

// Apart returns the names of the jobs that two replicas serve in different ways, sorted: all that both
// have if they run different programs, else those with another definition or function.
func Apart(a, b Replica, read func(hash string) (JobSet, error)) ([]string, error) {
	ours, err := whole(a, read)
	if err != nil {
		return nil, err
	}
	theirs, err := whole(b, read)
	if err != nil {
		return nil, err
	}
	mine := make(map[string]JobText, len(ours.Jobs))
	for _, j := range ours.Jobs {
		mine[j.Key] = j
	}
	var names []string
	for _, j := range theirs.Jobs {
		if have, both := mine[j.Key]; both && (OtherPrograms(a, b) || have.Hash != j.Hash || have.Code != j.Code) {
			names = append(names, have.Name)
		}
	}
	slices.Sort(names)
	return names, nil
}

// whole returns the set of jobs that a replica serves.
func whole(r Replica, read func(hash string) (JobSet, error)) (JobSet, error) {
	set, err := read(r.ConfigHash)
	if err == nil && len(set.Jobs) < set.Count {
		err = ErrSetTooLarge
	}
	return set, err
}

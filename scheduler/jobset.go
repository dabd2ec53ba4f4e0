package scheduler

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
)

// A JobSet is what the jobs are that a Replica.ConfigHash stands for, for people who
// compare what replicas serve.
type JobSet struct {
	Count int       // how many jobs there are
	Jobs  []JobText // sorted by Key; none if they are too many to be kept
}

// A JobText is one job of a set.
type JobText struct {
	Name string `json:"name"`
	Key  string `json:"key"` // the name it had first, under which the nodes know it
	Hash string `json:"hash"`
	// Settings are those in effect, without secrets: an object.
	Settings any `json:"settings"`
}

// Bounds of a set that is kept: what is written down of its jobs, and what that is
// packed.
const (
	MaxJobSet    = 1 << 20
	maxPackedSet = 128 << 10
)

// ErrNoJobSet is returned for a set that nobody has kept, or nobody for a day.
var ErrNoJobSet = errors.New("the set of jobs is not known")

// JobSets keep what sets of jobs consist of, by their hash, for a day after the last
// replica that serves one has said so. It is a hint, like a Roster: nothing that
// runs depends on it.
type JobSets interface {
	// RenewSet says that the set is still served, and tells whether it is kept
	// everywhere: KeepSet is to be called otherwise.
	RenewSet(ctx context.Context, hash string) (kept bool, err error)
	// KeepSet keeps a set, as PackJobs wrote it.
	KeepSet(ctx context.Context, hash string, packed []byte) error
	// JobSet returns a set as it was kept, or ErrNoJobSet.
	JobSet(ctx context.Context, hash string) (packed []byte, err error)
}

// errTooLarge ends the writing of a set.
var errTooLarge = errors.New("the set is too large to be kept")

// PackJobs writes a set of so many jobs, in the order of their keys, for UnpackJobs.
// Of a set that is too large it says only how many there are.
func PackJobs(count int, jobs iter.Seq[JobText]) ([]byte, error) {
	packed, err := pack(count, jobs)
	if errors.Is(err, errTooLarge) {
		return pack(count, func(func(JobText) bool) {})
	}
	return packed, err
}

// A packedHead goes before the jobs, one a line. It is kept on the nodes, as JobText
// is: only add optional fields.
type packedHead struct {
	Count int `json:"count"`
}

func pack(count int, jobs iter.Seq[JobText]) ([]byte, error) {
	var b bytes.Buffer
	zip := gzip.NewWriter(&b)
	enc := json.NewEncoder(&bounded{to: zip, left: MaxJobSet})
	if err := enc.Encode(packedHead{count}); err != nil {
		return nil, err
	}
	for j := range jobs {
		if err := enc.Encode(j); err != nil {
			return nil, fmt.Errorf("writing down job %s: %w", j.Name, err)
		}
		if b.Len() > maxPackedSet {
			return nil, errTooLarge
		}
	}
	if err := zip.Close(); err != nil {
		return nil, err
	}
	if b.Len() > maxPackedSet {
		return nil, errTooLarge
	}
	return b.Bytes(), nil
}

// bounded lets only so much through.
type bounded struct {
	to   io.Writer
	left int
}

func (w *bounded) Write(b []byte) (int, error) {
	if w.left -= len(b); w.left < 0 {
		return 0, errTooLarge
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

// texts says what each of the jobs is, in the order of their keys.
func texts(list []*Job) iter.Seq[JobText] {
	slices.SortFunc(list, func(x, y *Job) int { return strings.Compare(x.Key, y.Key) })
	return func(yield func(JobText) bool) {
		for _, j := range list {
			if !yield(JobText{Name: j.Name, Key: j.Key, Hash: j.Hash, Settings: j.settings()}) {
				return
			}
		}
	}
}

// settings are what Settings returns or, where nobody has written any, what listings
// show of a job.
func (j *Job) settings() any {
	if j.Settings != nil {
		return j.Settings()
	}
	return map[string]any{
		"func": j.Func, "schedule": j.Spec, "timezone": j.Timezone, "description": j.Description, "tags": j.Tags,
		"paused": j.Paused, "timeout": j.Timeout.String(), "overlap": j.Overlap, "jitter": j.Jitter.String(),
	}
}

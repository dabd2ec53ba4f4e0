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

// ErrSetTooLarge says that a set of jobs is stored without its jobs.
var ErrSetTooLarge = errors.New("the set of jobs is too large to be kept")

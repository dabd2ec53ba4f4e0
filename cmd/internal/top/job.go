package top

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/quorate/quorate/cmd/internal/cluster"
	"github.com/quorate/quorate/cmd/internal/failure"
	"github.com/quorate/quorate/cmd/internal/output"
	"github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/scheduler/ledger"
	"github.com/quorate/quorate/scheduler/roster"
)

// Bounds of what is read of one job.
const (
	mostOfJob     = 50 // ticks, the newest
	mostNextOfJob = 3
	mostNamesakes = 20 // jobs whose name, tags or description contain its name
)

// A jobDetail is what is known of one job.
type jobDetail struct {
	job      string
	versions []view.Job // that replicas serve; none: it is unknown
	policies []view.Fact
	pauses   []view.Command // of all jobs
	next     []view.Next
	ticks    []view.Tick // newest first
	took     time.Duration
	err      error // why some of it is old or unknown
}

// A policyReader knows policies. The API of a replica does not serve them.
type policyReader interface {
	Policies(ctx context.Context, j roster.JobInfo) (view.Policies, error)
}

// readJob reads all parts at once. Parts that cannot be read are taken from last, which may
// be nil.
func readJob(ctx context.Context, c cluster.Cluster, job string, last *jobDetail) *jobDetail {
	ctx, cancel := context.WithTimeout(ctx, pollTimeout)
	defer cancel()
	began := time.Now()
	d := &jobDetail{job: job}
	if last != nil {
		*d = *last
	}
	var errs [4]error
	var wg sync.WaitGroup
	for i, read := range []func() error{
		func() error { return keep(&d.pauses)(c.Pauses(ctx)) },
		func() error { return keep(&d.next)(c.Next(ctx, job, began, mostNextOfJob)) },
		func() error {
			q := view.EntryQuery{Job: job, Limit: mostOfJob}
			rows, err := cluster.Entries(ctx, q, c.Ticks)
			return keep(&d.ticks)(rows[:min(len(rows), mostOfJob)], err)
		},
		func() error { return d.readVersions(ctx, c) },
	} {
		wg.Go(func() { errs[i] = guarded(read) })
	}
	wg.Wait()
	d.took, d.err = time.Since(began), cmp.Or(errs[:]...)
	return d
}

// keep returns a function that stores rows unless there is an error.
func keep[R any](to *[]R) func([]R, error) error {
	return func(rows []R, err error) error {
		if err == nil {
			*to = rows
		}
		return err
	}
}

// readVersions reads the served versions of the job, or the last one, and the policies of
// the newest.
func (d *jobDetail) readVersions(ctx context.Context, c cluster.Cluster) error {
	before := d.job[:len(d.job)-1] // the last name that sorts before it and all its namesakes
	p, err := c.Jobs(ctx, view.JobQuery{After: before, Text: d.job, Limit: mostNamesakes})
	if err != nil {
		return err
	}
	d.versions = slices.DeleteFunc(p.Items, func(j view.Job) bool { return j.Job != d.job })
	reader, ok := c.Service.(policyReader)
	if !ok || len(d.versions) == 0 {
		return nil
	}
	policies, err := reader.Policies(ctx, d.versions[0].Info)
	d.policies = policies.InWords()
	return err
}

// lines describe the job: how it is, when it runs next, its settings, and its newest ticks.
func (d *jobDetail) lines(v layout) (lines []textLine) {
	if d.err != nil {
		lines = append(lines, wrappedSentence(view.Bad, "Not all is known: "+failure.Lines(d.err)[0], v.width)...)
	}
	lines = append(lines, d.stateLines(v)...)
	lines = append(lines, factLines(d.facts(v.now), v.width)...)
	s := d.tickRows(v.now)
	if len(s.rows) == 0 {
		return append(lines, textLine{{"It has no ticks yet.", plain}})
	}
	lines = append(lines, textLine{{s.title, bold}, {" the newest " + fmt.Sprint(len(s.rows)), faint}})
	return append(lines, s.lines(0, len(s.rows), v.width)...)
}

// stateLines say how the last tick ended, and whether the job is paused or not served.
func (d *jobDetail) stateLines(v layout) (lines []textLine) {
	say := func(l view.Level, text string) {
		lines = append(lines, wrappedSentence(l, text, v.width)...)
	}
	if len(d.versions) == 0 && d.err == nil {
		say(view.Warn, "No replica has published this job.")
	}
	for i, j := range d.versions {
		switch {
		case !j.Live:
			say(view.Warn, "No replica serves this job.")
		case j.Drift && i == 0:
			say(view.Warn, "Replicas serve different versions of this job.")
		}
	}
	if why := d.paused(); why != "" {
		say(view.Warn, "Its ticks are skipped: "+why)
	}
	if len(d.ticks) > 0 {
		t := d.ticks[0]
		text := fmt.Sprintf("The last tick, %s: %s", clockAt(view.Time(&t.Tick), v.now), view.MarkOf(t.Outcome).Word)
		if len(d.versions) > 0 {
			text = view.Join(", ", text, d.versions[0].Trouble())
		}
		say(t.Level(), view.Join(": ", text, problemText(t)))
	}
	return lines
}

// facts are the next ticks, the settings and the policies of the job.
func (d *jobDetail) facts(now time.Time) (facts []view.Fact) {
	var next []string
	for _, n := range d.next {
		at := view.Time(cmp.Or(n.Start, &n.Tick))
		text := clockAt(at, now)
		if next == nil {
			text = view.Join("; ", "in "+output.Rough(at.Sub(now))+", "+text, n.Remark())
		}
		next = append(next, text)
	}
	facts = append(facts, view.Fact{Name: "Next", Text: strings.Join(next, "; then ")})
	for _, j := range d.versions {
		schedule := view.Join(", ", view.Text(j.Schedule), view.Text(j.Timezone))
		if j.JitterMillis != nil {
			schedule += ", starts up to " + view.Span(time.Duration(*j.JitterMillis)*time.Millisecond) + " later"
		}
		facts = append(facts, view.Fact{Name: "Schedule", Text: view.Join("; ", schedule, "function "+view.Text(j.Func))}, view.Fact{Name: "For", Text: view.Text(j.Description)})
	}
	var policies []string
	for _, p := range d.policies {
		policies = append(policies, p.Name+": "+p.Text)
	}
	return append(facts, view.Fact{Name: "Policies", Text: strings.Join(policies, "; ")})
}

// tickRows has a row for each of the newest ticks.
func (d *jobDetail) tickRows(now time.Time) section {
	s := section{title: "TICKS", grid: grid{cut: []int{5, 4}, most: map[int]int{4: 24}}}
	for _, t := range d.ticks {
		look := levelOf(t.Level())
		mark := span{view.MarkOf(t.Outcome).Shape, look}
		if look < warn && t.Outcome != ledger.Running {
			mark = shape(look)
		}
		s.add(rowID{about: subject{aJob, d.job}, detail: t.Tick}, textLine{
			mark,
			{clockAt(view.Time(&t.Tick), now), plain},
			{view.MarkOf(t.Outcome).Word, look},
			{output.Took(t.Run, now), plain},
			{output.Dash(t.Replica), faint},
			{problemText(t), plain},
		})
	}
	return s
}

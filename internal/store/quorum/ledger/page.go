package ledger

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/quorate/quorate/internal/store/quorum/records"
)

// A span is a part of a job's records that is read in one call.
type span struct {
	job      string
	latest   string // the upper end as a score
	earliest time.Time
	most     int  // runs per node, and as many notes
	search   bool // leave out what a node takes for a plain end
}

// A page is what the nodes that answered know of a range of a job's ticks.
type page struct {
	merge merger
	// horizon is a tick in milliseconds. The page has all records of later ticks, and
	// of all ticks if it is complete.
	horizon  int64
	complete bool
}

// pages reads several spans with one call to each node.
func (l *Ledger) pages(ctx context.Context, spans []span) ([]page, error) {
	doing := "reading the ledger of " + spans[0].job
	if len(spans) > 1 {
		doing += fmt.Sprintf(" and %d more jobs", len(spans)-1)
	}
	var keys []string
	var args []any
	for _, s := range spans {
		for _, what := range []string{"runs", "notes", "lock", "fence"} {
			keys = append(keys, l.set.JobKey(s.job, what))
		}
		search := 0
		if s.search {
			search = 1
		}
		args = append(args, s.latest, max(0, s.earliest.UnixMilli()), s.most, search)
	}
	replies, err := answers(l.set, doing, l.set.Call(ctx, l.lua.read, keys, args...))
	if err != nil {
		return nil, err
	}
	list, memo := make([]page, len(spans)), decoded{}
	for i := range list {
		list[i] = page{merge: newMerger(l.set.Quorum(), len(replies)), complete: true}
		list[i].merge.unread = l.Unreadable
	}
	for _, r := range replies {
		said := words{left: r.Args}
		for i := range list {
			if err := list[i].add(spans[i].job, &said, memo); err != nil {
				return nil, fmt.Errorf("%s: %s: %w", doing, r.Node, err)
			}
		}
	}
	return list, nil
}

// add adds one node's answer about a job, see read.lua.
func (p *page) add(job string, w *words, memo decoded) error {
	rest, more, err := w.tick()
	if err != nil {
		return err
	}
	if more {
		p.complete, p.horizon = false, max(p.horizon, rest)
	}
	gone, trimmed, err := w.tick()
	if err != nil {
		return err
	}
	if trimmed {
		p.merge.trimmed, p.merge.gone = true, max(p.merge.gone, gone)
	}
	owners, err := w.list() // of the locks
	if err != nil {
		return err
	}
	for i, v := range owners {
		owners[i] = strings.TrimPrefix(v, "?")
	}
	records, err := w.list()
	if err != nil {
		return err
	}
	for _, text := range records {
		score, text, _ := strings.Cut(text, " ")
		rec, err := memo.record(text)
		if err != nil {
			p.merge.skip(job, score, text, err)
			continue
		}
		p.merge.add(rec, owners...)
	}
	return nil
}

// known returns the entries of the ticks that the page covers.
func (p *page) known(job string) []known {
	if !p.complete {
		p.merge.forgetUpTo(p.horizon)
	}
	return p.merge.known(job)
}

// words is the unread rest of a node's answer.
type words struct{ left []string }

// next takes a word, "" at the end.
func (w *words) next() string {
	if len(w.left) == 0 {
		return ""
	}
	word := w.left[0]
	w.left = w.left[1:]
	return word
}

// tick takes a tick in milliseconds, if there is one.
func (w *words) tick() (ms int64, ok bool, err error) {
	word := w.next()
	if word == "" {
		return 0, false, nil
	}
	if ms, err = strconv.ParseInt(word, 10, 64); err != nil {
		return 0, false, fmt.Errorf("invalid tick %q", word)
	}
	return ms, true, nil
}

// list takes a number and that many words.
func (w *words) list() ([]string, error) {
	text := w.next()
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 || n > len(w.left) {
		return nil, fmt.Errorf("invalid count %q", text)
	}
	list := w.left[:n]
	w.left = w.left[n:]
	return list, nil
}

// decoded caches records by their text, since most nodes store the same.
type decoded map[string]records.Record

func (d decoded) record(text string) (records.Record, error) {
	if r, ok := d[text]; ok {
		return r, nil
	}
	r, err := records.Decode(text)
	if err == nil {
		d[text] = r
	}
	return r, err
}

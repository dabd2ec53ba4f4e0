package attempt

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/quorate/quorate/internal/retry"
	"github.com/quorate/quorate/scheduler/internal/event"
	"github.com/quorate/quorate/scheduler/internal/roster"
	"github.com/quorate/quorate/scheduler/ledger"
)

// A runLog keeps the end of a run's log. The zero value is ready to use. Functions that
// outlive their run may still write to it.
type runLog struct {
	mu   sync.Mutex
	text []byte
	cut  int
}

// Write takes a line.
func (l *runLog) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text = append(l.text, line...)
	if len(l.text) > 2*ledger.MaxLog { // rarely, so a flood is not copied line by line
		l.trim()
	}
	return len(line), nil
}

// trim drops the beginning, in whole lines if the end is not all one line, else in whole
// letters.
func (l *runLog) trim() {
	over := len(l.text) - ledger.MaxLog
	if over <= 0 {
		return
	}
	if end := bytes.IndexByte(l.text[over-1:], '\n'); end >= 0 && over+end < len(l.text) {
		over += end
	}
	for n := 1; n < utf8.UTFMax && !utf8.RuneStart(l.text[over]); n++ { // half a letter
		over++
	}
	l.cut += over
	l.text = append(l.text[:0], l.text[over:]...)
}

// written is the number of bytes ever written.
func (l *runLog) written() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.cut + len(l.text)
}

// end returns the kept text, and how many bytes were dropped before it.
func (l *runLog) end() (text string, cut int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.trim()
	return strings.ToValidUTF8(string(l.text), "\uFFFD"), l.cut
}

// handler returns a handler that writes lines to base and, from level info, to the log. The
// log leaves out base's attributes: they are the run's.
func (l *runLog) handler(base *slog.Logger) slog.Handler {
	kept := slog.NewTextHandler(l, &slog.HandlerOptions{Level: slog.LevelInfo, ReplaceAttr: shortTime})
	return teeHandler{base.Handler(), kept}
}

// shortTime writes the time of a line in UTC, to the millisecond.
func shortTime(groups []string, a slog.Attr) slog.Attr {
	if len(groups) == 0 && a.Key == slog.TimeKey && a.Value.Kind() == slog.KindTime {
		a.Value = slog.StringValue(a.Value.Time().UTC().Format("2006-01-02T15:04:05.000Z"))
	}
	return a
}

// A teeHandler writes each line to both handlers, if their levels allow.
type teeHandler struct{ base, kept slog.Handler }

func (h teeHandler) Enabled(ctx context.Context, level slog.Level) bool {
	return h.base.Enabled(ctx, level) || h.kept.Enabled(ctx, level)
}

func (h teeHandler) Handle(ctx context.Context, r slog.Record) error {
	var errs []error
	for _, to := range []slog.Handler{h.base, h.kept} {
		if to.Enabled(ctx, r.Level) {
			errs = append(errs, to.Handle(ctx, r.Clone()))
		}
	}
	return errors.Join(errs...)
}

func (h teeHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return teeHandler{h.base.WithAttrs(attrs), h.kept.WithAttrs(attrs)}
}

func (h teeHandler) WithGroup(name string) slog.Handler {
	return teeHandler{h.base.WithGroup(name), h.kept.WithGroup(name)}
}

// archiveTimeout bounds storing the log of a run, and dropping old logs.
const archiveTimeout = 2 * time.Second

// archive stores the run's log. It is best effort within archiveTimeout: the run has ended.
func (r *Run) archive(e ledger.Entry) {
	text, cut := r.log.end()
	if r.deps.cfg.Archive == nil || text == "" && !r.brief.Job.History.Bounded() {
		return
	}
	var logs []ledger.Log
	if text != "" {
		logs = []ledger.Log{{Job: e.Job, Tick: e.OrderKey(), Token: e.Token, Text: text, Cut: cut}}
	}
	ctx, cancel := context.WithTimeout(r.deps.stops.Releases, archiveTimeout)
	defer cancel()
	err := r.deps.cfg.Archive.Store(ctx, e.Job, r.brief.Job.History, logs...)
	for roster.Passing(err) && retry.After(ctx, endPause) {
		err = r.deps.cfg.Archive.Store(ctx, e.Job, r.brief.Job.History, logs...)
	}
	if err != nil {
		r.notifyOf(e, event.Event{Kind: event.NotArchived, Err: err})
	}
}

// logEvery is how often the log of a long run is stored, if it has grown: for readers at
// other replicas, and in case the replica dies.
const logEvery = 5 * time.Second

// storeLog stores the log of a run if it has grown, and returns its stored length. If that
// fails, it is stored later.
func (r *Run) storeLog(ctx context.Context, stored int) int {
	written := r.log.written()
	if written == stored {
		return stored
	}
	ctx, cancel := context.WithTimeout(ctx, archiveTimeout)
	defer cancel()
	log := r.LogSoFar()
	if r.deps.cfg.Archive.Store(ctx, log.Job, r.brief.Job.History, log) != nil {
		return stored
	}
	return written
}

// LogSoFar is the run's entry and its log until now.
func (r *Run) LogSoFar() ledger.Log {
	e := r.entry(ledger.Running)
	text, cut := r.log.end()
	return ledger.Log{Job: e.Job, Tick: e.OrderKey(), Token: e.Token, Text: text, Cut: cut, At: r.deps.engine.Now(), Run: e}
}

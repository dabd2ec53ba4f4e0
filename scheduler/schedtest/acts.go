package schedtest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/quorate/quorate/scheduler/acts"
)

// Acts is a [acts.Store] in memory, shared by the replicas of one process.
// The zero value is ready to use.
type Acts struct {
	mu   sync.Mutex
	acts []acts.Act // in the order they were made

	notes []acts.Act
}

// Do implements [acts.Store].
func (a *Acts) Do(ctx context.Context, act acts.Act) (acts.Act, error) {
	if err := ctx.Err(); err != nil {
		return acts.Act{}, err
	}
	act, err := act.Ready()
	if err != nil {
		return acts.Act{}, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if i := a.find(act.ID); i >= 0 {
		if a.acts[i].Fingerprint() != act.Fingerprint() {
			return acts.Act{}, &acts.ReusedIDError{ID: act.ID}
		}
		return a.acts[i], nil
	}
	now := time.Now()
	if err := a.full(act, now); err != nil {
		return acts.Act{}, err
	}
	act.At = a.next(act, now)
	a.acts = append(a.acts, act)
	return act, nil
}

// full is the error for one act too many.
func (a *Acts) full(act acts.Act, now time.Time) error {
	if most := act.Kind.Most(acts.MaxOpen); act.Kind.Request() && len(a.requests(now)) >= most {
		return acts.TooMany(act.Kind, most)
	}
	if act.Kind != acts.Pause {
		return nil
	}
	others := slices.DeleteFunc(a.pauses(), func(p acts.Act) bool { return p.Line() == act.Line() })
	if len(others) >= acts.MaxPauses {
		return acts.TooMany(acts.Pause, acts.MaxPauses)
	}
	return nil
}

// next returns an instant after those of the acts that act must follow.
func (a *Acts) next(act acts.Act, now time.Time) time.Time {
	at := now.Truncate(time.Millisecond).UTC()
	for _, have := range a.acts {
		if have.Line() == act.Line() && have.Last().Add(time.Millisecond).After(at) {
			at = have.Last().Add(time.Millisecond)
		}
	}
	return at
}

// Open implements [acts.Store].
func (a *Acts) Open(ctx context.Context) (acts.Open, error) {
	if err := ctx.Err(); err != nil {
		return acts.Open{}, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	now := time.Now()
	return acts.Open{Pauses: a.pauses(), Requests: a.requests(now), Expired: a.expired(now)}, nil
}

func (a *Acts) expired(now time.Time) []acts.Act {
	var expired []acts.Act
	for _, act := range a.acts {
		if act.Kind.Request() && act.Closed.IsZero() && !now.Before(act.Expires()) {
			expired = append(expired, act)
		}
	}
	acts.Sort(expired)
	return expired
}

func (a *Acts) requests(now time.Time) []acts.Act {
	var open []acts.Act
	for _, act := range a.acts {
		if act.Kind.Request() && act.Closed.IsZero() && now.Before(act.Expires()) {
			open = append(open, act)
		}
	}
	acts.Sort(open)
	return open
}

func (a *Acts) pauses() []acts.Act {
	last := map[string]acts.Act{}
	for _, act := range a.acts {
		if !act.Kind.Request() {
			last[act.Line()] = act
		}
	}
	var paused []acts.Act
	for _, act := range last {
		if act.Kind == acts.Pause {
			paused = append(paused, act)
		}
	}
	slices.SortFunc(paused, func(x, y acts.Act) int { return strings.Compare(x.Line(), y.Line()) })
	return paused
}

// Close implements [acts.Store].
func (a *Acts) Close(ctx context.Context, id, result string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if i := a.find(id); i >= 0 && a.acts[i].Kind.Request() && a.acts[i].Closed.IsZero() {
		a.acts[i] = a.acts[i].Done(result, time.Now())
	}
	return nil
}

func (a *Acts) find(id string) int {
	return slices.IndexFunc(a.acts, func(have acts.Act) bool { return have.ID == id })
}

// Audit implements [acts.Store].
func (a *Acts) Audit(ctx context.Context, limit int) ([]acts.Act, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	all := slices.Concat(a.acts, a.notes)
	acts.Sort(all)
	slices.Reverse(all)
	return all[:min(len(all), limit)], nil
}

// Note implements [acts.Notebook].
func (a *Acts) Note(ctx context.Context, act acts.Act) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.notes = append(a.notes, act.Noted(time.Now()))
	refused := slices.DeleteFunc(slices.Clone(a.notes), func(n acts.Act) bool { return !n.Refused() })
	if len(refused) > acts.KeepRefused {
		oldest := refused[0].ID
		a.notes = slices.DeleteFunc(a.notes, func(n acts.Act) bool { return n.ID == oldest })
	}
	return nil
}

// String lists the acts, for messages of tests.
func (a *Acts) String() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	var lines []string
	for _, act := range a.acts {
		lines = append(lines, fmt.Sprintf("%s %s by %s: %s", act.Kind, act.Target(), act.By, act.Result))
	}
	return strings.Join(lines, "\n")
}

var (
	_ acts.Store    = (*Acts)(nil)
	_ acts.Notebook = (*Acts)(nil)
)

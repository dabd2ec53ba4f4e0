package fence_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/locking/fence"
)

func claim(resource string, token locking.Token) locking.Claim {
	return locking.Claim{Name: resource, Token: token}
}

func TestOf(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		bearer fence.Bearer
		want   string // "" for a good one
	}{
		"claim":               {claim("r", 7), ""},
		"largest token":       {claim("r", 1<<53-1), ""},
		"longest name":        {claim(strings.Repeat("r", 255), 7), ""},
		"nobody":              {nil, "there is no bearer"},
		"no token":            {claim("r", 0), "for r: it is 0"},
		"too large a token":   {claim("r", 1<<53), "is above"},
		"no resource":         {claim("", 7), "a resource of 0 bytes"},
		"too long a resource": {claim(strings.Repeat("r", 256), 7), "a resource of 256 bytes"},
	}
	for name, tt := range tests {
		_, _, err := fence.Of(tt.bearer)
		switch {
		case tt.want == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case tt.want != "" && (!errors.Is(err, fence.ErrNoToken) || !strings.Contains(err.Error(), tt.want)):
			t.Errorf("%s: %v, want ErrNoToken with %q", name, err, tt.want)
		}
	}
}

func TestForAnotherResource(t *testing.T) {
	t.Parallel()
	resource, token, err := fence.Of(fence.For("orders", fence.For("ignored", claim("job", 7))))
	if resource != "orders" || token != 7 || err != nil {
		t.Errorf("got %s, %d, %v", resource, token, err)
	}
}

func TestMemory(t *testing.T) {
	t.Parallel()
	m := fence.NewMemory()
	for _, tt := range []struct {
		resource    string
		token, seen locking.Token // seen: 0 if admitted
	}{
		{"a", 5, 0},
		{"a", 5, 0},
		{"a", 4, 5},
		{"b", 4, 0}, // another resource
		{"a", 9, 0},
		{"a", 5, 9},
		{"a", 8, 9}, // a refused token does not count as seen
		{"a", 9, 0},
	} {
		err := m.Admit(t.Context(), claim(tt.resource, tt.token))
		stale, _ := errors.AsType[*fence.StaleError](err)
		switch {
		case tt.seen == 0 && err != nil:
			t.Errorf("%s %d: %v", tt.resource, tt.token, err)
		case tt.seen != 0 && (!errors.Is(err, fence.ErrStale) || *stale != fence.StaleError{Resource: tt.resource, Token: tt.token, Seen: tt.seen}):
			t.Errorf("%s %d: %v, want a refusal that has seen %d", tt.resource, tt.token, err, tt.seen)
		}
	}
	if err := m.Admit(t.Context(), claim("a", 0)); !errors.Is(err, fence.ErrNoToken) {
		t.Errorf("no token: %v", err)
	}
}

// Each refusal is reported once to every observer in the context; admissions are not.
func TestObservers(t *testing.T) {
	t.Parallel()
	var told []string
	tell := func(who string) func(*fence.StaleError) {
		return func(e *fence.StaleError) { told = append(told, fmt.Sprintf("%s %d<%d", who, e.Token, e.Seen)) }
	}
	ctx := fence.WithObserver(fence.WithObserver(t.Context(), tell("outer")), tell("inner"))
	m := fence.NewMemory()
	_ = m.Admit(ctx, claim("a", 9))
	_ = m.Admit(ctx, claim("a", 5))
	_ = m.Admit(ctx, claim("a", 0))
	_ = m.Admit(t.Context(), claim("a", 6)) // nobody listens
	if got := strings.Join(told, ", "); got != "inner 5<9, outer 5<9" {
		t.Errorf("told %s", got)
	}
}

// During a write the next one waits, with any token; other resources do not.
func TestGateLetsInOneAtATime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := fence.NewGate(fence.NewMemory())
		inside, log := 0, []string{}
		write := func(name string) func() error {
			return func() error {
				if inside++; inside > 1 {
					t.Errorf("%s is let in beside another", name)
				}
				time.Sleep(time.Second)
				log = append(log, name)
				inside--
				return nil
			}
		}
		ended := make(chan error, 2)
		go func() { ended <- g.Do(t.Context(), claim("a", 5), write("five")) }()
		synctest.Wait()
		go func() { ended <- g.Do(t.Context(), claim("a", 7), write("seven")) }()
		synctest.Wait()
		if err := g.Do(t.Context(), claim("b", 1), func() error { return nil }); err != nil {
			t.Error(err)
		}
		if err := errors.Join(<-ended, <-ended); err != nil {
			t.Error(err)
		}
		if err := g.Do(t.Context(), claim("a", 5), write("late")); !errors.Is(err, fence.ErrStale) {
			t.Errorf("late write: %v", err)
		}
		if got := strings.Join(log, " "); got != "five seven" {
			t.Errorf("written: %s", got)
		}
	})
}

// A writer that is checked while another writes could be overtaken.
func TestGateChecksInsideTheTurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		guard := fence.NewMemory()
		g := fence.NewGate(guard)
		ended := make(chan error)
		go func() {
			ended <- g.Do(t.Context(), claim("a", 7), func() error { time.Sleep(time.Second); return nil })
		}()
		synctest.Wait()
		go func() {
			ended <- g.Do(t.Context(), claim("a", 8), func() error { t.Error("8 wrote after 9 was seen"); return nil })
		}()
		synctest.Wait()
		if err := guard.Admit(t.Context(), claim("a", 9)); err != nil { // another door to the same sink
			t.Error(err)
		}
		if err := errors.Join(<-ended, <-ended); !errors.Is(err, fence.ErrStale) {
			t.Errorf("got %v, want 8 refused", err)
		}
	})
}

func TestGateGivesUpWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := fence.NewGate(fence.NewMemory())
		leave := make(chan struct{})
		ended := make(chan error)
		go func() { ended <- g.Do(t.Context(), claim("a", 5), func() error { <-leave; return nil }) }()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		err := g.Do(ctx, claim("a", 9), func() error { t.Error("let in"); return nil })
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		close(leave)
		if err := <-ended; err != nil {
			t.Error(err)
		}
		// A write that gave up was not checked, and does not count as seen.
		if err := g.Do(t.Context(), claim("a", 5), func() error { return nil }); err != nil {
			t.Error(err)
		}
		if err := g.Do(t.Context(), claim("a", 0), nil); !errors.Is(err, fence.ErrNoToken) {
			t.Errorf("no token: %v", err)
		}
	})
}

func TestProblem(t *testing.T) {
	t.Parallel()
	stale := &fence.StaleError{Resource: "invoices", Token: 5, Seen: 1<<53 - 1}
	const want = `{"type":"https://github.com/quorate/quorate/problems/stale-fencing-token",` +
		`"title":"Stale fencing token","status":412,` +
		`"detail":"the write to invoices carries token 5, and 9007199254740991 has written already",` +
		`"resource":"invoices","token":5,"seen":9007199254740991}`
	if got := string(stale.Problem()); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	tests := map[string]struct {
		bearer fence.Bearer
		status int
		media  string
		body   string
		found  bool
	}{
		"refusal":          {claim("invoices", 5), 412, "application/problem+json; charset=utf-8", want, true},
		"other status":     {claim("invoices", 5), 409, fence.ProblemMedia, want, false},
		"other media type": {claim("invoices", 5), 412, "application/json", want, false},
		"other problem":    {claim("invoices", 5), 412, fence.ProblemMedia, `{"type":"about:blank","token":5,"seen":7}`, false},
		"other token":      {claim("invoices", 6), 412, fence.ProblemMedia, want, false},
		"no larger token":  {claim("invoices", 5), 412, fence.ProblemMedia, strings.ReplaceAll(want, "9007199254740991", "5"), false},
		"no JSON":          {claim("invoices", 5), 412, fence.ProblemMedia, want[:20], false},
		"no token":         {claim("invoices", 0), 412, fence.ProblemMedia, strings.Replace(want, `"token":5`, `"token":0`, 1), false},
		"no bearer":        {nil, 412, fence.ProblemMedia, want, false},
	}
	for name, tt := range tests {
		got := fence.ParseProblem(tt.bearer, tt.status, tt.media, []byte(tt.body))
		if (got != nil) != tt.found || tt.found && *got != *stale {
			t.Errorf("%s: got %v, want found %v", name, got, tt.found)
		}
	}
	unnamed := strings.Replace(want, `"resource":"invoices",`, "", 1)
	if got := fence.ParseProblem(claim("mine", 5), 412, fence.ProblemMedia, []byte(unnamed)); got == nil || got.Resource != "mine" {
		t.Errorf("a refusal without its resource: %v", got)
	}
}

package fencetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/locking/fence"
)

// store is a sink in memory behind a Gate. Its hooks plant faults.
type store struct {
	gate *fence.Gate

	mu     sync.Mutex
	values map[string]string

	// name is the resource as the store keeps it.
	name func(string) string
	// judge replaces the guard and the gate.
	judge func(s *store, ctx context.Context, b fence.Bearer, write func() error) error
	// cancelled is called for a write whose context has ended.
	cancelled func(s *store, resource, value string)
}

func newStore() *store {
	return &store{
		gate: fence.NewGate(fence.NewMemory()), values: map[string]string{},
		name: func(n string) string { return n },
		judge: func(s *store, ctx context.Context, b fence.Bearer, write func() error) error {
			return s.gate.Do(ctx, b, write)
		},
		cancelled: func(*store, string, string) {},
	}
}

func (s *store) Write(ctx context.Context, b fence.Bearer, value string) error {
	return s.WriteSlowly(ctx, b, value, func() {})
}

func (s *store) WriteSlowly(ctx context.Context, b fence.Bearer, value string, pause func()) error {
	resource := ""
	if b != nil {
		resource, _ = b.Fence()
	}
	if ctx.Err() != nil {
		s.cancelled(s, s.name(resource), value)
		return ctx.Err()
	}
	return s.judge(s, ctx, named{b, s.name}, func() error {
		pause()
		s.set(s.name(resource), value)
		return nil
	})
}

func (s *store) Read(_ context.Context, resource string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.values[s.name(resource)], nil
}

func (s *store) set(resource, value string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.values[resource] = value
}

// named is a bearer whose resource is written otherwise.
type named struct {
	fence.Bearer
	name func(string) string
}

func (n named) Fence() (string, locking.Token) {
	if n.Bearer == nil {
		return "", 0
	}
	resource, token := n.Bearer.Fence()
	return n.name(resource), token
}

func TestStoreInMemory(t *testing.T) {
	t.Parallel()
	Run(t, func(testing.TB) Sink { return newStore() })
}

// recorder takes a check's complaints instead of failing the test.
type recorder struct {
	testing.TB
	mu         sync.Mutex
	complaints []string
}

func (r *recorder) Helper() {}
func (r *recorder) Errorf(f string, a ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.complaints = append(r.complaints, fmt.Sprintf(f, a...))
}

// A marks guard keeps a mark per resource, by its rule, and refuses if the rule says so.
type marks struct {
	mu   sync.Mutex
	seen map[string]locking.Token
	rule func(seen, token locking.Token) (mark locking.Token, refuse bool)
	tell func(ctx context.Context, e *fence.StaleError) error
}

func (m *marks) Admit(ctx context.Context, b fence.Bearer) error {
	resource, token, err := fence.Of(b)
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	seen := m.seen[resource]
	mark, refuse := m.rule(seen, token)
	m.seen[resource] = mark
	if refuse {
		return m.tell(ctx, &fence.StaleError{Resource: resource, Token: token, Seen: seen})
	}
	return nil
}

// guarded is a store behind a guard with the rule.
func guarded(rule func(seen, token locking.Token) (locking.Token, bool)) *store {
	return telling(rule, fence.Refused)
}

func telling(rule func(seen, token locking.Token) (locking.Token, bool), tell func(context.Context, *fence.StaleError) error) *store {
	s := newStore()
	s.gate = fence.NewGate(&marks{seen: map[string]locking.Token{}, rule: rule, tell: tell})
	return s
}

func sound(seen, token locking.Token) (locking.Token, bool) { return max(seen, token), token < seen }

func altered(change func(*store)) *store {
	s := newStore()
	change(s)
	return s
}

type fault struct {
	name    string
	sink    func() *store
	foundBy []string
}

func faults() []fault {
	return []fault{
		{"nothing is checked", func() *store {
			return guarded(func(seen, token locking.Token) (locking.Token, bool) { return token, false })
		}, []string{"StaleWriteIsRefused", "StaleWriteLeavesNoTrace", "LargeTokensKeepTheirDigits"}},
		{"equal token is refused", func() *store {
			return guarded(func(seen, token locking.Token) (locking.Token, bool) { return max(seen, token), token <= seen })
		}, []string{"EqualTokenWritesAgain"}},
		{"larger token is refused", func() *store {
			return guarded(func(seen, token locking.Token) (locking.Token, bool) { return token, seen > 0 && token > seen })
		}, []string{"GrowingTokensWrite"}},
		{"refused token is remembered", func() *store {
			return guarded(func(seen, token locking.Token) (locking.Token, bool) { return token, token < seen })
		}, []string{"RefusedTokenIsNotRemembered"}},
		{"tokens have 32 bits", func() *store {
			return guarded(func(seen, token locking.Token) (locking.Token, bool) {
				return max(seen, token), uint32(token) < uint32(seen)
			})
		}, []string{"LargeTokensKeepTheirDigits"}},
		{"tokens are floating point", func() *store {
			return guarded(func(seen, token locking.Token) (locking.Token, bool) {
				return max(seen, token), float32(token) < float32(seen)
			})
		}, []string{"LargeTokensKeepTheirDigits"}},
		{"refusal is not told", func() *store {
			return telling(sound, func(_ context.Context, e *fence.StaleError) error { return e })
		}, []string{"RefusalIsTold"}},
		{"refusal is told twice", func() *store {
			return telling(sound, func(ctx context.Context, e *fence.StaleError) error {
				_ = fence.Refused(ctx, e)
				return fence.Refused(ctx, e)
			})
		}, []string{"RefusalIsTold"}},
		{"refusal is any error", func() *store {
			return telling(sound, func(context.Context, *fence.StaleError) error { return errors.New("no") })
		}, []string{"StaleWriteIsRefused", "LargestTokenLastsUnderCompetition"}},
		{"refusal names one token", func() *store {
			return telling(sound, func(_ context.Context, e *fence.StaleError) error {
				e.Seen = e.Token
				return e
			})
		}, []string{"StaleWriteIsRefused"}},
		{"all resources are one", func() *store {
			return altered(func(s *store) { s.name = func(string) string { return "r" } })
		}, []string{"ResourcesAreIndependent"}},
		{"names ignore case", func() *store {
			return altered(func(s *store) { s.name = strings.ToLower })
		}, []string{"ResourceNamesAreExact"}},
		{"names lose their spaces", func() *store {
			return altered(func(s *store) { s.name = strings.TrimSpace })
		}, []string{"ResourceNamesAreExact"}},
		{"names are cut", func() *store {
			return altered(func(s *store) { s.name = func(n string) string { return n[:min(len(n), 254)] } })
		}, []string{"ResourceNamesAreExact"}},
		{"no token passes", func() *store {
			return altered(func(s *store) {
				s.judge = func(s *store, ctx context.Context, b fence.Bearer, write func() error) error {
					if _, token := b.Fence(); token == 0 {
						return write()
					}
					return s.gate.Do(ctx, b, write)
				}
			})
		}, []string{"NoTokenIsRefused"}},
		{"cancelled write is half done", func() *store {
			return altered(func(s *store) { s.cancelled = func(s *store, resource, value string) { s.set(resource, value[:3]) } })
		}, []string{"CancelledWriteUsesNothingUp"}},
		{"check, then write", func() *store {
			guard := fence.NewMemory()
			return altered(func(s *store) {
				s.judge = func(_ *store, ctx context.Context, b fence.Bearer, write func() error) error {
					if err := guard.Admit(ctx, b); err != nil {
						return err
					}
					return write()
				}
			})
		}, []string{"PausedWriteIsNotOvertaken"}},
		{"write, then check", func() *store {
			guard := fence.NewMemory()
			return altered(func(s *store) {
				s.judge = func(_ *store, ctx context.Context, b fence.Bearer, write func() error) error {
					if _, _, err := fence.Of(b); err != nil {
						return err
					}
					return errors.Join(write(), guard.Admit(ctx, b))
				}
			})
		}, []string{"StaleWriteLeavesNoTrace"}},
		{"largest token of all is refused", func() *store {
			return guarded(func(seen, token locking.Token) (locking.Token, bool) { return writers + 1, token >= writers })
		}, []string{"LargestTokenLastsUnderCompetition"}},
	}
}

// TestKitFindsFaults plants faults into a sink that is otherwise sound, and
// wants each found by the check that guards the promise it breaks, and each
// check to find one.
func TestKitFindsFaults(t *testing.T) {
	t.Parallel()
	found := map[string]bool{}
	for _, f := range faults() {
		for _, name := range f.foundBy {
			i := slices.IndexFunc(checks(), func(c check) bool { return c.name == name })
			if i < 0 {
				t.Fatalf("there is no check %s", name)
			}
			rec := &recorder{TB: t}
			checks()[i].run(&bench{TB: rec, sink: f.sink()})
			if len(rec.complaints) == 0 {
				t.Errorf("%s: check %s does not see the fault", f.name, name)
			}
			found[name] = true
		}
	}
	for _, c := range checks() {
		if !found[c.name] {
			t.Errorf("no fault shows that check %s can fail", c.name)
		}
	}
}

package locktest

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quorate/quorate/internal/store/protocol"
	"github.com/quorate/quorate/locking"
)

func TestMemoryUnderStress(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := new(Memory)
		got := Stress(t, func(string) locking.Locker { return m }, StressConfig{Contenders: 20, Rounds: 2000, Work: time.Millisecond})
		if got.Rounds != 2000 || got.Written != 2000 || got.Released != 2000 || got.Extended != 2000 {
			t.Errorf("counted %v, want 2000 of each", got)
		}
	})
}

// Leases that expire during the work are recognised, and cost no update: the cell refuses
// late ones.
func TestStressWithLeasesThatRunOut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := new(Memory)
		got := Stress(t, func(string) locking.Locker { return m }, StressConfig{
			Contenders: 5, Rounds: 200, TTL: 10 * time.Millisecond, Work: 15 * time.Millisecond,
		})
		if got.Rounds != 200 || got.Written+got.Stale != 200 || got.Stale == 0 || got.Lost == 0 || got.Released+got.Expired+got.Lost != 200 {
			t.Errorf("counted %v, want 200 rounds, some of them stale and lost", got)
		}
	})
}

func TestStressFindsFaults(t *testing.T) {
	t.Parallel()
	oneToken := func(l *oddLease) {
		c := l.memoryLease.Claim()
		c.Token = 7
		l.claim = func() locking.Claim { return c }
	}
	neither := mutant{
		deny: func(m *Memory, req locking.Request, _ *locking.AcquireError) (locking.Lease, error) {
			lease, err := grantAnyway(m, req, func(s *protocol.State) { s.Lock = protocol.Lease{} })
			odd := &oddLease{memoryLease: lease.(*memoryLease)}
			oneToken(odd)
			return odd, err
		},
		grant: oneToken,
	}
	for name, tt := range map[string]struct {
		mutant mutant
		want   string
	}{
		"tokens do not grow":              {mutant{grant: oneToken}, "was granted after"},
		"held lock is granted":            {grantOn(locking.ErrTaken), "last at the same time"},
		"neither lock nor tokens exclude": {neither, "were lost"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rec := &recorder{TB: t}
			synctest.Test(t, func(t *testing.T) {
				rec.TB = t
				m := tt.mutant
				m.Memory = new(Memory)
				Stress(rec, func(string) locking.Locker { return m }, StressConfig{Rounds: 50, Work: time.Millisecond})
			})
			if all := strings.Join(rec.complaints, "\n"); !strings.Contains(all, tt.want) {
				t.Errorf("Stress said %.500q, want %q", all, tt.want)
			}
		})
	}
}

package membership_test

import (
	"context"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quorate/quorate/dev/testkit/redistest"
	"github.com/quorate/quorate/internal/store/health"
	"github.com/quorate/quorate/internal/store/quorum/membership"
)

// A busy conn loses writes while there is something to lose.
type busy struct {
	net.Conn
	lose *atomic.Int64 // number of writes
}

func (c busy) Write(b []byte) (int, error) {
	if c.lose.Add(-1) >= 0 {
		return len(b), nil
	}
	return c.Conn.Write(b)
}

// TestInspectTellsSlowFromDown: a node that is late once is asked again, and one
// that answered lately is slow before it is down.
func TestInspectTellsSlowFromDown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := redistest.MiniN(t, 1)
		defer m.Close()
		var lose atomic.Int64
		c := config(m.URLs(), embedded(m))
		dial := c.Dial
		c.Dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := dial(ctx, network, addr)
			return busy{conn, &lose}, err
		}
		s := open(t, c)
		defer s.Close()
		if err := s.Init(t.Context(), false); err != nil {
			t.Fatal(err)
		}
		inspect := func() health.Node { return s.Inspect(t.Context())[0] }
		if st := inspect(); !st.Reachable || st.Slow {
			t.Fatalf("at first: %+v", st)
		}
		lose.Store(1)
		if st := inspect(); !st.Reachable || st.Err != nil || st.Slow {
			t.Errorf("late once: reachable %v, slow %v, %v", st.Reachable, st.Slow, st.Err)
		}
		lose.Store(1000)
		if st := inspect(); st.Reachable || !st.Slow || st.Err == nil {
			t.Errorf("late twice: reachable %v, slow %v, %v", st.Reachable, st.Slow, st.Err)
		}
		time.Sleep(membership.DefaultCheckEvery)
		if st := inspect(); st.Reachable || st.Slow {
			t.Errorf("silent for long: reachable %v, slow %v, %v", st.Reachable, st.Slow, st.Err)
		}
		lose.Store(0)
		inspect()
		m.Stop(0)
		if st := inspect(); st.Reachable || st.Slow {
			t.Errorf("gone: reachable %v, slow %v, %v", st.Reachable, st.Slow, st.Err)
		}
	})
}

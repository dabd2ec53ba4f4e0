package zookeeper

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/quorate/quorate/dev/testkit/redistest"
	"github.com/quorate/quorate/internal/store/single/kv"
	"github.com/quorate/quorate/stores/zookeeper/internal/zookeepertest"
)

// A server that takes no more connections closes them without a word, in one way or another. The
// error names what may be the cause, and nothing twice.
func TestTooManyConnections(t *testing.T) {
	for name, ca := range map[string]*redistest.CA{"plain": nil, "TLS": redistest.NewCA(t)} {
		t.Run(name, func(t *testing.T) {
			const most = 2
			e := zookeepertest.Start(t, 1, zookeepertest.Options{Connections: most, TLS: ca})
			c := in(e, "n")
			if ca != nil {
				c = trusting(t, c, ca)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			for range most {
				s := opened(t, c)
				for _, _, err := s.Read(ctx, x); err != nil; _, _, err = s.Read(ctx, x) { // the server may not have noticed yet that its checks have ended
					if ctx.Err() != nil {
						t.Fatal(err)
					}
				}
			}
			s := opened(t, c)
			for range 20 {
				_, _, err := s.Read(t.Context(), x)
				if !errors.Is(err, kv.ErrNotSent) || !strings.Contains(err.Error(), "maxClientCnxns") || strings.Count(err.Error(), "the store does not answer") > 1 {
					t.Fatalf("Read = %v, want that the server may take no more connections", err)
				}
				err = s.commitNothing(t.Context())
				if !errors.Is(err, kv.ErrNotSent) || !strings.Contains(err.Error(), "maxClientCnxns") || strings.Count(err.Error(), "the store does not answer") > 1 {
					t.Fatalf("Commit = %v, want that the server may take no more connections", err)
				}
			}
		})
	}
}

// commitNothing commits what changes nothing.
func (s *ensemble) commitNothing(ctx context.Context) error {
	_, err := s.Commit(ctx, kv.Txn{Incarnation: "1.0000000000000000"})
	return err
}

// An error says once how the context has ended, whichever call it was.
func TestDeadlineIsToldOnce(t *testing.T) {
	e := zookeepertest.Start(t, 1, zookeepertest.Options{Divisible: true})
	s := opened(t, in(e, "n"))
	write(t, s)
	e.Members[0].Cut(t, false)
	for range 3 {
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		_, _, err := s.Read(ctx, x)
		err2 := s.commitNothing(ctx)
		cancel()
		ctx, cancel = context.WithTimeout(t.Context(), 200*time.Millisecond)
		err3 := s.commitNothing(ctx)
		cancel()
		for _, err := range []error{err, err2, err3} {
			if text := err.Error(); !errors.Is(err, context.DeadlineExceeded) || strings.Count(text, "context deadline exceeded") != 1 || strings.Count(text, "the store does not answer") != 1 || strings.Contains(text, "\n") {
				t.Errorf("%v", err)
			}
		}
	}
}

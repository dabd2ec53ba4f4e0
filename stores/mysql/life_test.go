package mysql

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/quorate/quorate/internal/store/single/kv"
	"github.com/quorate/quorate/stores/mysql/internal/mysqltest"
)

// A restart begins no other incarnation. A promotion does, also for those who have not seen the old
// primary, and what was read before loses.
func TestPromotion(t *testing.T) {
	t.Parallel()
	for name, settings := range map[string][]string{"asynchronous": nil, "semi-synchronous": mysqltest.SemiSync()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, primary := newWorld(t, settings...)
			replica := primary.Replica(t)
			migrate(t, primary, "quorate")
			primary.Exec(t, Grants("", "replica"))
			s := opened(t, source{fresh: at(as(primary, "replica", "Geheim1"))})
			first := write(t, s, `1`)
			tellsReplicas(t, s, name)
			primary.Kill(t)
			primary.Start(t)
			primary.AwaitReplica(t, replica)
			old := await(t, s)
			if old != first.Stamp.Incarnation {
				t.Errorf("a restart led from incarnation %s to %s", first.Stamp.Incarnation, old)
			}
			if settings == nil {
				replica.CutOff(t)
			}
			write(t, s, `2`)
			primary.Fence(t)
			_, _, read := s.Read(t.Context(), keyX)
			_, commit := s.Commit(t.Context(), kv.Txn{Incarnation: old, Put: []kv.Write{{Key: keyX, Value: json.RawMessage(`3`)}}})
			for _, err := range []error{read, commit} {
				if !errors.Is(err, kv.ErrNotSent) || !strings.Contains(err.Error(), "this server only reads") {
					t.Errorf("at a fenced primary: %v, want %v", err, kv.ErrNotSent)
				}
			}
			primary.Kill(t)
			replica.Promote(t)
			primary.Follow(t, replica) // else commits wait for a replica
			primary.Front().Target(replica.SideAddr())
			primary.Front().Break()
			next := await(t, s)
			if later := opened(t, source{fresh: at(as(replica, "replica", "Geheim1"))}); next == old || await(t, later) != next {
				t.Errorf("after the promotion the incarnation is %s, and was %s; others see %s", next, old, await(t, later))
			}
			if o, err := s.Commit(t.Context(), kv.Txn{Incarnation: old, Put: []kv.Write{{Key: keyX, Value: json.RawMessage(`3`)}}}); err != nil || o.Won {
				t.Errorf("a transaction of the incarnation before = %+v, %v, want it to lose", o, err)
			}
			want := `2`
			if settings == nil {
				want = `1`
			}
			wants(t, s, want)
			write(t, s, `4`)
		})
	}
}

// await reads until the server answers, and returns the incarnation.
func await(tb testing.TB, s kv.Store) string {
	tb.Helper()
	for range 20 {
		ctx, cancel := context.WithTimeout(tb.Context(), 5*time.Second)
		_, stamp, err := s.Read(ctx, keyX)
		cancel()
		if err == nil {
			return stamp.Incarnation
		}
		if !errors.Is(err, kv.ErrUnavailable) {
			tb.Fatal(err)
		}
	}
	tb.Fatal("the server does not answer")
	return ""
}

// tellsReplicas checks what is found about the replicas of a primary.
func tellsReplicas(t *testing.T, s *server, want string) {
	t.Helper()
	c, err := s.Check(t.Context())
	if err != nil || len(c.Findings) != 1 || !strings.Contains(c.Findings[0].Text, "1 "+want) && !strings.Contains(c.Findings[0].Text, "1 replicas are "+want) {
		t.Errorf("Check = %+v, %v, want one replica that is %s", c, err, want)
	}
}

// A replica that was not promoted is no server to work with, also for a user who may write to it.
func TestReplicaIsRefused(t *testing.T) {
	t.Parallel()
	primary := mysqltest.Start(t)
	migrate(t, primary, "quorate")
	replica := primary.Replica(t)
	primary.AwaitReplica(t, replica)
	s := opened(t, source{fresh: at(mysqltest.URL(replica.Addr(), url.User("root")))})
	_, _, read := s.Read(t.Context(), keyX)
	_, commit := s.Commit(t.Context(), kv.Txn{Put: []kv.Write{{Key: keyX, Value: json.RawMessage(`3`)}}})
	_, check := s.Check(t.Context())
	for _, err := range []error{read, commit, check} {
		if !errors.Is(err, kv.ErrNotSent) || !strings.Contains(err.Error(), "this server only reads") {
			t.Errorf("at a replica: %v, want %v", err, kv.ErrNotSent)
		}
	}
}

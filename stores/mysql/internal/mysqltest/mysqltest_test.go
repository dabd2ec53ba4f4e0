package mysqltest_test

import (
	"context"
	"database/sql"
	"testing"
	"time"

	_ "github.com/go-sql-driver/mysql" // the driver "mysql"

	"github.com/quorate/quorate/stores/mysql/internal/mysqltest"
)

// A server that was killed keeps what it has committed, a frozen one and one that is cut off do not answer
// until they are well.
func TestServersHaveTroubles(t *testing.T) {
	t.Parallel()
	s := mysqltest.Start(t)
	s.Exec(t, "CREATE DATABASE d", "CREATE TABLE d.t (id INT PRIMARY KEY)", "INSERT INTO d.t VALUES (7)")
	s.Kill(t)
	s.Start(t)
	if got := s.Value(t, "SELECT id FROM d.t", ""); got != "7" {
		t.Errorf("after a crash there is %s", got)
	}
	answers := func(addr string) bool {
		db, err := sql.Open("mysql", "root@tcp("+addr+")/")
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		return db.PingContext(ctx) == nil
	}
	s.Freeze(t)
	if answers(s.Addr()) {
		t.Error("a frozen server answers")
	}
	s.Thaw(t)
	s.Cut(t, true)
	if !answers(s.Addr()) {
		t.Error("a thawed server does not answer")
	}
	s.Cut(t, false)
	if answers(s.Addr()) || !answers(s.SideAddr()) {
		t.Error("a server that is cut off answers clients, or not those at its side address")
	}
	s.Heal(t)
	if !answers(s.Addr()) {
		t.Error("a server does not answer after it was healed")
	}
}

// A replica has what it has received when it is promoted, and with semi-synchronous replication all
// that was committed. The old primary follows it, and forgets the rest.
func TestReplicasArePromoted(t *testing.T) {
	t.Parallel()
	for name, settings := range map[string][]string{"asynchronous": nil, "semi-synchronous": mysqltest.SemiSync()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := mysqltest.Start(t, settings...)
			r := s.Replica(t)
			s.Exec(t, "CREATE DATABASE d", "CREATE TABLE d.t (id INT PRIMARY KEY)", "INSERT INTO d.t VALUES (7)")
			if settings == nil {
				s.AwaitReplica(t, r)
				r.CutOff(t)
				s.Exec(t, "INSERT INTO d.t VALUES (8)")
			}
			s.Kill(t)
			r.Promote(t)
			if got := r.Value(t, "SELECT GROUP_CONCAT(id) FROM d.t", ""); got != "7" {
				t.Errorf("after the promotion there is %s", got)
			}
			s.Follow(t, r)
			r.Exec(t, "INSERT INTO d.t VALUES (9)")
			r.AwaitReplica(t, s)
			if got := s.Value(t, "SELECT GROUP_CONCAT(id) FROM d.t", ""); got != "7,9" {
				t.Errorf("the new replica has %s", got)
			}
		})
	}
}

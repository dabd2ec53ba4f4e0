package mysqltest

import (
	"fmt"
	"slices"
	"testing"

	"github.com/quorate/quorate/dev/testkit/mariadbtest"
	"github.com/quorate/quorate/dev/testkit/proxytest"
)

// SemiSync are settings with which a commit waits until a replica has it, however long.
func SemiSync() []string {
	return []string{
		"rpl-semi-sync-master-enabled=1", "rpl-semi-sync-slave-enabled=1", "rpl-semi-sync-master-wait-point=AFTER_SYNC",
		"rpl-semi-sync-master-timeout=3600000",
	}
}

// semiSync reports whether commits wait for a replica while the server is the primary and has had one.
func (s *Server) semiSync() bool { return slices.Contains(s.settings, SemiSync()[0]) }

// awaitReplicas makes each commit wait for a replica, or none.
func (s *Server) awaitReplicas(tb testing.TB, wait bool) {
	tb.Helper()
	s.Exec(tb, fmt.Sprintf("SET GLOBAL rpl_semi_sync_master_enabled = %t", wait))
}

// Replica starts a copy of s that follows it, and takes no writes but those of s. Commits at s do not
// wait for it, unless a setting says so.
func (s *Server) Replica(tb testing.TB) *Server {
	tb.Helper()
	r := &Server{at: mariadbtest.New(tb), settings: slices.Clone(s.settings)}
	r.front = proxytest.New(tb, r.SideAddr())
	r.Follow(tb, s)
	s.awaitReplicas(tb, s.semiSync())
	return r
}

// Follow makes a server that has ended a replica of another, at its old address. It forgets what
// it had, and receives all that the other has ever logged.
func (s *Server) Follow(tb testing.TB, primary *Server) {
	tb.Helper()
	s.install(tb)
	s.Start(tb)
	s.awaitReplicas(tb, false)
	s.Exec(tb, "SET GLOBAL read_only = 1", "SET GLOBAL gtid_slave_pos = ''",
		fmt.Sprintf("CHANGE MASTER TO master_host = '127.0.0.1', master_port = %s, master_user = 'root', master_use_gtid = slave_pos, master_connect_retry = 1", primary.at.Port),
		"START SLAVE")
}

// AwaitReplica waits until a replica of s has all that s has committed.
func (s *Server) AwaitReplica(tb testing.TB, r *Server) {
	tb.Helper()
	r.awaitPosition(tb, s.Value(tb, "SELECT @@gtid_binlog_pos", ""))
}

// mostSeconds is how long a replica may take.
const mostSeconds = 60

// awaitPosition waits until a replica has applied what was logged up to a position.
func (s *Server) awaitPosition(tb testing.TB, position string) {
	tb.Helper()
	if got := s.Value(tb, fmt.Sprintf("SELECT MASTER_GTID_WAIT('%s', %d)", position, mostSeconds), ""); got != "0" {
		tb.Fatalf("the replica has not reached %s within %d s: it is at %q, %s %s", position, mostSeconds, s.Value(tb, "SELECT @@gtid_slave_pos", ""),
			s.Value(tb, "SHOW SLAVE STATUS", "Last_IO_Error"), s.Value(tb, "SHOW SLAVE STATUS", "Last_SQL_Error"))
	}
}

// CutOff makes a replica receive nothing more.
func (s *Server) CutOff(tb testing.TB) {
	tb.Helper()
	s.Exec(tb, "STOP SLAVE IO_THREAD")
}

// Promote makes a replica a primary, whatever has become of the one that it follows, when it has applied
// all that it has received.
func (s *Server) Promote(tb testing.TB) {
	tb.Helper()
	s.CutOff(tb)
	if received := s.Value(tb, "SHOW SLAVE STATUS", "Gtid_IO_Pos"); received != "" {
		s.awaitPosition(tb, received)
	}
	s.Exec(tb, "STOP SLAVE", "RESET SLAVE ALL")
	s.awaitReplicas(tb, s.semiSync())
	s.Exec(tb, "SET GLOBAL read_only = 0")
}

// Fence makes a primary refuse writes, as an operator does before a replica is promoted. It returns
// when no transaction is under way.
func (s *Server) Fence(tb testing.TB) {
	tb.Helper()
	s.Exec(tb, "SET GLOBAL read_only = 1")
}

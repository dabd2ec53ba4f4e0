package redistest

import (
	"strings"
	"syscall"
	"time"
)

// Shutdown ends the server in good order, without a snapshot: what its
// append-only file holds stays, if it has one.
func (s *Server) Shutdown() {
	s.t.Helper()
	s.signal(syscall.SIGTERM) // SHUTDOWN, which saves only where save points are set
	<-s.proc.done
}

// Save writes a snapshot, which Start reads.
func (s *Server) Save() {
	s.t.Helper()
	if err := s.Client().Save(s.t.Context()).Err(); err != nil {
		s.t.Fatalf("saving the data of redis-server: %v", err)
	}
}

// Start starts a server that has ended, at the same port, with what its disk
// holds: the last snapshot, or the append-only file.
func (s *Server) Start() {
	s.t.Helper()
	err := s.start()
	// Some connection may have taken the port for a moment.
	for range 50 {
		if err == nil || !strings.Contains(err.Error(), "in use") {
			break
		}
		time.Sleep(20 * time.Millisecond)
		err = s.start()
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

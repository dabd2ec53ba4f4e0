package servertest_test

import (
	"net"
	"testing"

	"github.com/quorate/quorate/dev/testkit/servertest"
)

// A port that a test has got is nobody else's until the test ends, although nothing listens on it yet.
func TestFreePortIsGivenOnce(t *testing.T) {
	t.Parallel()
	var port string
	t.Run("while a test has it", func(t *testing.T) {
		port = servertest.FreePort(t)
		if held, err := net.ListenPacket("udp", "127.0.0.1:"+port); err == nil {
			held.Close()
			t.Error("another caller can hold it")
		}
		l, err := net.Listen("tcp", "127.0.0.1:"+port)
		if err != nil {
			t.Fatalf("its server cannot listen: %v", err)
		}
		l.Close()
	})
	held, err := net.ListenPacket("udp", "127.0.0.1:"+port)
	if err != nil {
		t.Fatalf("after the test: %v", err)
	}
	held.Close()
}

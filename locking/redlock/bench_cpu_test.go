package redlock

import (
	"regexp"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/quorate/quorate/dev/testkit/redistest"
)

// A cpu measures processor time of the servers and this process since its last call.
type cpu struct {
	servers           []*redistest.Server
	served, processed time.Duration
}

func cpuOf(b *testing.B, servers []*redistest.Server) *cpu {
	b.Helper()
	c := &cpu{servers: servers}
	c.take(b)
	return c
}

// take returns the use of b.N operations, in microseconds each.
func (c *cpu) take(b *testing.B) (servers, client float64) {
	b.Helper()
	served, processed := servedCPU(b, c.servers), ownCPU(b)
	each := func(d time.Duration) float64 { return float64(d.Microseconds()) / float64(b.N) }
	servers, client = each(served-c.served), each(processed-c.processed)
	c.served, c.processed = served, processed
	return servers, client
}

var usedCPU = regexp.MustCompile(`used_cpu_(?:sys|user):([0-9.]+)`)

// servedCPU is the servers' use since their start, all threads.
func servedCPU(tb testing.TB, servers []*redistest.Server) time.Duration {
	tb.Helper()
	var seconds float64
	for _, s := range servers {
		info, err := s.Client().Info(tb.Context(), "cpu").Result()
		if err != nil {
			tb.Fatal(err)
		}
		for _, m := range usedCPU.FindAllStringSubmatch(info, -1) {
			n, err := strconv.ParseFloat(m[1], 64)
			if err != nil {
				tb.Fatal(err)
			}
			seconds += n
		}
	}
	return time.Duration(seconds * float64(time.Second))
}

// ownCPU is this process's use.
func ownCPU(tb testing.TB) time.Duration {
	tb.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		tb.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

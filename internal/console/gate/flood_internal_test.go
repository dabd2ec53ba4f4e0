package gate

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// A flood of guesses from ever new networks, far faster than passwords can be checked, keeps nobody out:
// the user who is guessed and every other one are let in from an address that has not guessed, soon if
// it keeps asking.
func TestFloodsKeepNobodyOut(t *testing.T) {
	t.Parallel()
	anyV4 := func(r *rand.Rand, _ int) string {
		return netip.AddrFrom4([4]byte(binary.BigEndian.AppendUint32(nil, r.Uint32()))).String()
	}
	anyV6 := func(r *rand.Rand, _ int) string {
		var at [16]byte
		binary.BigEndian.PutUint64(at[:8], r.Uint64()>>3|0x2000<<48)
		return netip.AddrFrom16(at).String()
	}
	for _, tc := range []struct {
		name    string
		rate    int // per second
		address func(r *rand.Rand, n int) string
		user    func(n int) string
		tries   int // at most
	}{
		{"new networks of one site", 200, func(_ *rand.Rand, n int) string { return fmt.Sprintf("2001:db8:0:%x::1", n%65536) }, nil, 1},
		{"new sites of one provider", 200, func(_ *rand.Rand, n int) string { return fmt.Sprintf("2001:db8:%x::1", n%65536) }, nil, 1},
		{"new addresses of one /16", 200, func(_ *rand.Rand, n int) string { return fmt.Sprintf("198.51.%d.%d", n/256%256, n%256) }, nil, 1},
		{"new addresses from everywhere", 50, anyV4, nil, 3},
		{"many new addresses from everywhere", 200, anyV4, nil, 5},
		{"new networks from everywhere", 200, anyV6, nil, 5},
		{"300 addresses that keep asking", 100, func(_ *rand.Rand, n int) string { return fmt.Sprintf("10.%d.0.%d", n%300%256, n%300/256) }, nil, 60},
		{"new names, from everywhere", 200, anyV6, func(n int) string { return fmt.Sprint("user", n) }, 5},
		{"new names and one user", 200, anyV6, func(n int) string { return []string{"ann", fmt.Sprint("user", n)}[n%2] }, 5},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				g := New(Config{})
				ctx, end := context.WithCancel(t.Context())
				check := func(address, user string) (let bool) {
					if !g.turns.take(ctx, address, user) {
						return false
					}
					time.Sleep(150 * time.Millisecond)
					g.failures.add(address, user, time.Now())
					g.turns.give(address, user)
					return true
				}
				for n := range failsByUser {
					g.failures.add(fmt.Sprintf("2001:db8:0:%x::", n), "ann", time.Now())
				}
				var flood sync.WaitGroup
				flood.Go(func() {
					random := rand.New(rand.NewPCG(1, 2))
					for n := 0; ; n++ {
						select {
						case <-ctx.Done():
							return
						case <-time.After(time.Second / time.Duration(tc.rate)):
						}
						user := "ann"
						if tc.user != nil {
							user = tc.user(n)
						}
						address := tc.address(random, n)
						flood.Go(func() { check(address, user) })
					}
				})
				time.Sleep(20 * time.Second)
				for user, address := range map[string]string{"ann": "192.0.2.1", "bob": "2a02:db8::1"} {
					began, tries := time.Now(), 1
					for !check(address, user) && tries < 1000 {
						time.Sleep(time.Second)
						tries++
					}
					t.Logf("%s was let in after %v, at try %d", user, time.Since(began), tries)
					if tries > tc.tries {
						t.Errorf("%s was let in at try %d, after %v", user, tries, time.Since(began))
					}
				}
				end()
				flood.Wait()
				if len(g.turns.places) > mostCounted || len(g.turns.waiting) > 0 {
					t.Errorf("kept: %d places, %d logins", len(g.turns.places), len(g.turns.waiting))
				}
				time.Sleep(guessPause)
			})
		})
	}
}

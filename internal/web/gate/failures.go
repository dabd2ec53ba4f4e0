package gate

import (
	"maps"
	"net/netip"
	"sync"
	"time"
)

// Failed logins per window that are allowed from one address and for one user. The limit for
// a user is too low to guess a password, and too high to lock a user out by accident.
const (
	failWindow     = time.Minute
	failsByAddress = 10
	failsByUser    = 30
	mostCounted    = 10_000
)

// failures counts failed logins.
type failures struct {
	mu     sync.Mutex
	counts map[string]failCount
	sweep  time.Time // time of the next one
}

type failCount struct {
	n     int
	until time.Time
}

// wait is how long logins of the user from the address must wait.
func (f *failures) wait(address, user string, now time.Time) time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	var wait time.Duration
	for _, limit := range limits(address, user) {
		if c := f.counts[limit.key]; c.n >= limit.most {
			wait = max(wait, c.until.Sub(now))
		}
	}
	return wait
}

// of counts the failed logins from the address within the window.
func (f *failures) of(address string, now time.Time) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	if c := f.counts[limits(address, "")[0].key]; now.Before(c.until) {
		return c.n
	}
	return 0
}

// add counts a failure.
func (f *failures) add(address, user string, now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.counts == nil {
		f.counts = map[string]failCount{}
	}
	if !now.Before(f.sweep) {
		maps.DeleteFunc(f.counts, func(_ string, c failCount) bool { return !now.Before(c.until) })
		f.sweep = now.Add(failWindow)
	}
	for _, limit := range limits(address, user) {
		c, known := f.counts[limit.key]
		if !known && len(f.counts) >= mostCounted {
			f.dropOne()
		}
		if !now.Before(c.until) {
			c = failCount{until: now.Add(failWindow)}
		}
		c.n++
		f.counts[limit.key] = c
	}
}

// dropOne drops one of the lowest counts, so that a flood of others does not end anyone's
// wait.
func (f *failures) dropOne() {
	var least string
	var fewest failCount
	for key, c := range f.counts {
		if fewest.n == 0 || c.n < fewest.n {
			least, fewest = key, c
		}
		if c.n == 1 {
			break
		}
	}
	delete(f.counts, least)
}

type failLimit struct {
	key  string
	most int
}

// limits are the limits for an address and, if given, a user.
func limits(address, user string) []failLimit {
	list := []failLimit{{"address " + network(address), failsByAddress}}
	if user != "" {
		list = append(list, failLimit{"user " + user, failsByUser})
	}
	return list
}

// network is the range of one host: an IPv4 address, or an IPv6 /64.
func network(address string) string {
	at, err := netip.ParseAddr(address)
	if err != nil || at.Is4() {
		return address
	}
	prefix, _ := at.Prefix(64) // 64 bits always fit
	return prefix.String()
}

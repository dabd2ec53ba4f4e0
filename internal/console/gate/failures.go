package gate

import (
	"maps"
	"net/netip"
	"sync"
	"time"
)

// Failed logins per window that are allowed from one address. A user with more than failsByUser is
// being guessed: then an address has failsByGuessed only, and checks of the user's passwords are slow.
// The user is not locked out: an address without failures may log in.
const (
	failWindow     = time.Minute
	failsByAddress = 10
	failsByUser    = 30
	failsByGuessed = 2
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
	most := failsByAddress
	if f.guessed(user, now) {
		most = failsByGuessed
	}
	if c := f.of(byAddress(address), now); c.n >= most {
		return c.until.Sub(now)
	}
	return 0
}

// guessed reports whether somebody seems to guess the user's password.
func (f *failures) guessed(user string, now time.Time) bool {
	return user != "" && f.of(byUser(user), now).n >= failsByUser
}

// of counts the failed logins of a key within the window.
func (f *failures) of(key string, now time.Time) failCount {
	f.mu.Lock()
	defer f.mu.Unlock()
	if c := f.counts[key]; now.Before(c.until) {
		return c
	}
	return failCount{}
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
	var keys []string
	for _, block := range blocks(address) {
		keys = append(keys, byBlock(block))
	}
	if user != "" {
		keys = append(keys, byUser(user))
	}
	for _, key := range keys {
		c, known := f.counts[key]
		if !known && len(f.counts) >= mostCounted {
			f.dropOne()
		}
		if !now.Before(c.until) {
			c = failCount{until: now.Add(failWindow)}
		}
		c.n++
		f.counts[key] = c
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

func byAddress(address string) string { return byBlock(network(address)) }

func byBlock(block string) string { return "address " + block }

func byUser(name string) string { return "user " + name }

// levels of networks around an address.
const levels = 3

// blocks are the networks around an address, the widest first: about those of a provider, of a site and of
// one host. They are /16, /24 and /32 for IPv4; /32, /48 and /64 for IPv6.
func blocks(address string) [levels]string {
	at, err := netip.ParseAddr(address)
	if err != nil {
		return [levels]string{address, address, address}
	}
	bits := [levels]int{32, 48, 64}
	if at.Is4() {
		bits = [levels]int{16, 24, 32}
	}
	var around [levels]string
	for i, n := range bits {
		prefix, _ := at.Prefix(n) // an address has so many bits
		around[i] = prefix.String()
	}
	return around
}

// network is the range of one host, the narrowest of blocks.
func network(address string) string { return blocks(address)[levels-1] }

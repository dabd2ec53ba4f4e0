package gate

import (
	"cmp"
	"context"
	"maps"
	"net/netip"
	"runtime"
	"slices"
	"sync"
	"time"
)

// mostWaiting bounds the logins that wait for a password check, and longestWait the time they do.
const (
	mostWaiting = 100
	longestWait = 10 * time.Second
)

// guessPause is the time between two checks of a user who is being guessed.
const guessPause = 250 * time.Millisecond

// turns orders password checks. A check takes 0.1 s or more of a processor, so few run in
// parallel, and only one per network: a failure is counted before the network's next guess. A user
// who is being guessed has one check at a time, and guessPause after it.
//
// The order is fair to networks, by failed and waiting logins: first to providers, in them to sites, then
// to hosts. Equal ones come in the order in which their networks first asked. A login that is turned away
// keeps that place for failWindow, so networks that are new at each guess do not keep others out.
type turns struct {
	failures *failures

	mu       sync.Mutex
	checking []string // networks
	guessed  []string // users with a check, or in the pause after it
	waiting  []*turn  // in order of arrival
	places   map[string]place
	sweep    time.Time // of places, the next
}

// A place is when a network asked in vain for the first and the last time since its last check.
type place struct{ first, last time.Time }

// A turn is one waiting login.
type turn struct {
	blocks  [levels]string
	user    string
	guessed bool
	first   time.Time // when the network asked first
	called  chan bool // receives one value: false if too many others go first
}

func (t *turn) network() string { return t.blocks[levels-1] }

// take waits for the turn of a user's login. It returns false if ctx ends, longestWait has passed or
// too many others go first; else the caller must call give.
func (t *turns) take(ctx context.Context, address, user string) bool {
	ctx, cancel := context.WithTimeout(ctx, longestWait)
	defer cancel()
	now := time.Now()
	mine := &turn{blocks: blocks(address), user: user, guessed: t.failures.guessed(user, now), first: now, called: make(chan bool, 1)}
	t.mu.Lock()
	if p, ok := t.places[mine.network()]; ok && now.Sub(p.last) < failWindow {
		mine.first = p.first
	}
	t.waiting = append(t.waiting, mine)
	t.callNext()
	if len(t.waiting) > mostWaiting {
		last := t.leastFair()
		t.turnAway(last)
		last.called <- false
	}
	t.mu.Unlock()
	select {
	case may := <-mine.called:
		return may
	case <-ctx.Done():
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if slices.Contains(t.waiting, mine) {
		t.turnAway(mine)
		return false
	}
	return <-mine.called // called and ended at once
}

// give ends a turn.
func (t *turns) give(address, user string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	i := slices.Index(t.checking, network(address))
	t.checking = slices.Delete(t.checking, i, i+1)
	if slices.Contains(t.guessed, user) {
		time.AfterFunc(guessPause, func() {
			t.mu.Lock()
			defer t.mu.Unlock()
			t.guessed = slices.DeleteFunc(t.guessed, func(other string) bool { return other == user })
			t.callNext()
		})
	}
	t.callNext()
}

// callNext starts the next checks.
func (t *turns) callNext() {
	for len(t.waiting) > 0 && len(t.checking) < max(1, runtime.GOMAXPROCS(0)/2) {
		may := slices.DeleteFunc(slices.Clone(t.waiting), func(w *turn) bool {
			return slices.Contains(t.checking, w.network()) || w.guessed && slices.Contains(t.guessed, w.user)
		})
		if len(may) == 0 {
			return
		}
		next := slices.MinFunc(may, t.order())
		t.checking = append(t.checking, next.network())
		if next.guessed {
			t.guessed = append(t.guessed, next.user)
		}
		delete(t.places, next.network())
		t.remove(next)
		next.called <- true
	}
}

// order returns the comparison of waiting logins.
func (t *turns) order() func(x, y *turn) int {
	now, load := time.Now(), make(map[string]int, levels*len(t.waiting))
	for _, w := range t.waiting {
		for _, block := range w.blocks {
			if _, known := load[block]; !known {
				load[block] = t.failures.count(byBlock(block), now).n
			}
			load[block]++
		}
	}
	return func(x, y *turn) int {
		more := func(level int) int { return load[x.blocks[level]] - load[y.blocks[level]] }
		return cmp.Or(more(0), more(1), more(2), x.first.Compare(y.first))
	}
}

// leastFair is the login that is turned away when too many wait: of the users with the most, the one that would be
// called last.
func (t *turns) leastFair() *turn {
	users := map[string]int{}
	for _, w := range t.waiting {
		users[w.user]++
	}
	order := t.order()
	newest := slices.Clone(t.waiting)
	slices.Reverse(newest)
	return slices.MaxFunc(newest, func(x, y *turn) int { return cmp.Or(users[x.user]-users[y.user], order(x, y)) })
}

// turnAway removes a login, whose network keeps its place.
func (t *turns) turnAway(w *turn) {
	t.remove(w)
	now := time.Now()
	if t.places == nil {
		t.places = map[string]place{}
	}
	if !now.Before(t.sweep) {
		maps.DeleteFunc(t.places, func(_ string, p place) bool { return now.Sub(p.last) >= failWindow })
		t.sweep = now.Add(failWindow)
	}
	if _, known := t.places[w.network()]; !known && len(t.places) >= mostCounted {
		for network := range t.places { // any
			delete(t.places, network)
			break
		}
	}
	t.places[w.network()] = place{first: w.first, last: now}
}

func (t *turns) remove(w *turn) {
	t.waiting = slices.DeleteFunc(t.waiting, func(o *turn) bool { return o == w })
}

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
	if c := f.count(byBlock(network(address)), now); c.n >= most {
		return c.until.Sub(now)
	}
	return 0
}

// guessed reports whether somebody seems to guess the user's password.
func (f *failures) guessed(user string, now time.Time) bool {
	return user != "" && f.count(byUser(user), now).n >= failsByUser
}

// count counts the failed logins of a key within the window.
func (f *failures) count(key string, now time.Time) failCount {
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

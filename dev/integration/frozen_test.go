package integration_test

import (
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/quorate/quorate/dev/integration/sqltest"
	"github.com/quorate/quorate/dev/testkit/length"
	"github.com/quorate/quorate/dev/testkit/redistest"
	"github.com/quorate/quorate/locking/fence/sqlfence"
	"github.com/quorate/quorate/locking/redlock"
)

// TestCampaignFrozenHolders freezes holders of leases for three times the lease,
// just before they write, in processes of their own: meanwhile another one takes
// over and writes. Every write of a holder that wakes up must be refused, by the
// SQL guard and by the Redis guard, and no other. Without a guard each lands,
// which shows that they are really made.
func TestCampaignFrozenHolders(t *testing.T) {
	t.Parallel()
	lanes, rounds := length.Of(3, 20), length.Of(1, 10) // lanes are side by side
	w := newWorld(t)
	guarded, bare := newTally(), newTally()
	var all sync.WaitGroup
	for i := range lanes {
		all.Go(func() { w.lane(fmt.Sprint("lane-", i), false).run(rounds, guarded) })
	}
	all.Go(func() { w.lane("bare", true).run(rounds, bare) })
	all.Wait()

	t.Logf("holders frozen for %v, lease %v, %d side by side\n%s", frozenFor, leaseTTL, lanes, report(guarded, bare))
	for sink, c := range guarded.sinks {
		if c.stale != lanes*rounds || c.staleRefused != c.stale || c.goodRefused != 0 || c.good != 3*c.stale {
			t.Errorf("%s: %+v; want %d stale writes, all refused, and three good ones for each, none refused", sink, *c, lanes*rounds)
		}
	}
	for sink, c := range bare.sinks {
		if c.stale != rounds || c.staleRefused != 0 || c.landed != c.stale {
			t.Errorf("%s without a guard: %+v; want every stale write to land: the campaign sees nothing", sink, *c)
		}
	}
}

const frozenFor = 3 * leaseTTL

// world is what all lanes share.
type world struct {
	t      testing.TB
	order  holderOrder
	db     *sql.DB
	client *redis.Client
}

func newWorld(t testing.TB) *world {
	t.Helper()
	voting, sink := redistest.StartN(t, 5), redistest.Start(t)
	err := patiently(func() error {
		cfg := cluster(redistest.URLs(voting))
		cfg.New = true
		l, err := redlock.Open(t.Context(), cfg)
		if err != nil {
			return err
		}
		return l.Close()
	})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, order: holderOrder{Nodes: redistest.URLs(voting), Postgres: sqltest.Postgres(t), Redis: sink.Addr()}, client: sink.Client()}
	w.db = sqltest.Open(t, "pgx", w.order.Postgres)
	for _, statement := range []string{sqlfence.Schema(sqlfence.PostgreSQL), "CREATE TABLE notes (resource TEXT PRIMARY KEY, text TEXT)"} {
		if _, err := w.db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

// read returns what the sinks hold.
func (w *world) read(resource string) (postgres, redis string, err error) {
	err = w.db.QueryRowContext(w.t.Context(), "SELECT text FROM notes WHERE resource = $1", resource).Scan(&postgres)
	redis, redisErr := w.client.Get(w.t.Context(), resource).Result()
	return postgres, redis, errors.Join(err, redisErr)
}

// A lane is a resource and two processes that take turns at being frozen.
type lane struct {
	*world
	resource string
	holders  [2]*process
}

func (w *world) lane(resource string, unguarded bool) *lane {
	l := &lane{world: w, resource: resource}
	for i := range l.holders {
		order := w.order
		order.Resource, order.Name, order.Unguarded = resource, fmt.Sprint("holder-", i), unguarded
		l.holders[i] = startHolder(w.t, order)
	}
	return l
}

func (l *lane) run(rounds int, t *tally) {
	for r := range rounds {
		if err := l.round(l.holders[r%2], l.holders[(r+1)%2], t); err != nil {
			l.t.Errorf("%s, round %d: %v", l.resource, r, err)
			return
		}
	}
}

// round freezes first, lets next take over, and wakes first.
func (l *lane) round(first, next *process, t *tally) error {
	if _, err := first.ask("acquire"); err != nil {
		return err
	}
	if err := l.good(first, "before", t); err != nil {
		return err
	}
	if err := first.signal(syscall.SIGSTOP); err != nil {
		return err
	}
	thaw := time.After(frozenFor)
	if _, err := next.ask("acquire"); err != nil {
		return err
	}
	if err := l.good(next, "next", t); err != nil {
		return err
	}
	<-thaw
	// It finds the command when it wakes, as if it had been about to write.
	if err := errors.Join(first.order("write stale"), first.signal(syscall.SIGCONT)); err != nil {
		return err
	}
	a, err := first.answer()
	if err != nil {
		return err
	}
	postgres, redis, err := l.read(l.resource)
	if err != nil {
		return err
	}
	t.stale("postgres", a.Postgres, postgres == "stale")
	t.stale("redis", a.Redis, redis == "stale")
	if err := l.good(next, "next again", t); err != nil {
		return err
	}
	_, firstErr := first.ask("release")
	_, nextErr := next.ask("release")
	return errors.Join(firstErr, nextErr)
}

// good lets a holder write that nobody has overtaken.
func (l *lane) good(p *process, value string, t *tally) error {
	a, err := p.ask("write " + value)
	if err != nil {
		return err
	}
	t.good("postgres", a.Postgres)
	t.good("redis", a.Redis)
	postgres, redis, err := l.read(l.resource)
	if err == nil && (postgres != value || redis != value) {
		err = fmt.Errorf("%s wrote %q (%s, %s), but the sinks hold %q and %q", p.name, value, a.Postgres, a.Redis, postgres, redis)
	}
	return err
}

// A tally counts writes per sink.
type tally struct {
	mu    sync.Mutex
	sinks map[string]*count
}

type count struct {
	stale, staleRefused, landed int
	good, goodRefused           int
}

func newTally() *tally {
	return &tally{sinks: map[string]*count{"postgres": {}, "redis": {}}}
}

func (t *tally) stale(sink, became string, landed bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.sinks[sink]
	c.stale++
	if became == refused {
		c.staleRefused++
	}
	if landed {
		c.landed++
	}
}

func (t *tally) good(sink, became string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.sinks[sink]
	c.good++
	if became != wrote {
		c.goodRefused++
	}
}

// report prints what was counted.
func report(guarded, bare *tally) string {
	var b strings.Builder
	fmt.Fprintln(&b, "guard       stale writes   refused   landed   good writes   refused")
	row := func(name string, c *count) {
		fmt.Fprintf(&b, "%-12s%12d%10d%9d%14d%10d\n", name, c.stale, c.staleRefused, c.landed, c.good, c.goodRefused)
	}
	row("sqlfence", guarded.sinks["postgres"])
	row("redisfence", guarded.sinks["redis"])
	row("none, SQL", bare.sinks["postgres"])
	row("none, Redis", bare.sinks["redis"])
	return b.String()
}

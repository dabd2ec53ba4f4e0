package faults

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/quorate/quorate/dev/testkit/length"
	"github.com/quorate/quorate/locking"
)

// operations of a lease, in the order of fault.three.
var operations = [3]string{"acquire", "extend", "release"}

// A cell of the matrix.
type cell struct {
	fault  fault
	faulty int // nodes of five
	op     int // index of operations
}

func (c cell) String() string {
	return fmt.Sprintf("%s, %d of %d, %s", c.fault.name, c.faulty, size, operations[c.op])
}

// want is the expected result of the cell.
func (c cell) want() verdict {
	if c.faulty > size-quorum {
		return c.fault.three[c.op]
	}
	return works
}

// seen is the result of a cell.
type seen struct {
	verdict verdict
	tries   int
	took    time.Duration // the last try
}

// matrixTimes leave a busy machine room: a healthy node must not miss the
// timeout, nor the test a lease.
var matrixTimes = times{timeout: time.Second, ttl: 20 * time.Second, grace: 21 * time.Second}

// With any fault, two faulty nodes of five cost only their votes, and three lead to an
// error that names it; nothing is granted twice, and everything works again after the
// repair.
func TestMatrix(t *testing.T) {
	t.Parallel()
	rand := dice(t)
	cells := allCells()
	if !length.Whole() {
		cells = someCells(rand)
	}
	var mu sync.Mutex
	results := map[string]seen{}
	t.Run("cells", func(t *testing.T) {
		for _, c := range cells {
			order := rand.Perm(size)
			t.Run(c.String(), func(t *testing.T) {
				t.Parallel()
				got := runCell(t, c, order)
				mu.Lock()
				defer mu.Unlock()
				results[c.String()] = got
			})
		}
	})
	report(t, "matrix", matrixTable(results))
}

func allCells() []cell {
	var cells []cell
	for _, f := range matrixFaults() {
		for op := range operations {
			for faulty := range quorum + 1 {
				cells = append(cells, cell{f, faulty, op})
			}
		}
	}
	return cells
}

// someCells are two of each fault: as many nodes as may be away, and one more.
func someCells(rand *rand.Rand) []cell {
	var cells []cell
	at, most := rand.IntN(len(operations)), rand.IntN(len(operations))
	for i, f := range matrixFaults() {
		cells = append(cells,
			cell{f, 1 + rand.IntN(size-quorum), (at + i) % len(operations)},
			cell{f, quorum, (most + i) % len(operations)})
	}
	return cells
}

// runCell makes the first of the nodes in order faulty, and tries the operation.
func runCell(t *testing.T, c cell, order []int) seen {
	t.Helper()
	cl := newCluster(t, matrixTimes, c.fault.opts...)
	way := cl.lines(t)
	a, b := cl.replica(t, way), cl.replica(t, way)
	tick := cl.request(past(1))
	mustRelease(t, mustClaim(t, a, cl.request(past(0)))) // connections and scripts are in place
	before := mustClaim(t, b, cl.request(past(0).Add(time.Millisecond)))
	mustRelease(t, before)
	eventually(t, "all nodes have heard of the release", func() bool { return cl.locks(t) == 0 })
	var lease locking.Lease
	if c.op > 0 {
		lease = mustClaim(t, a, tick)
	}
	faulty := order[:c.faulty]
	waited := map[int]int{}
	for _, n := range faulty {
		waited[n] = a.down(n)
		c.fault.spoil(t, cl.servers[n], way[n])
	}

	got, err := operate(t, c, a, tick, &lease)
	if got.verdict != c.want() {
		t.Errorf("%s, want %s: %v", got.verdict, c.want(), err)
	}
	for _, n := range faulty {
		if got.verdict != works && !strings.Contains(err.Error(), nodeName(n)+": ") {
			t.Errorf("the error does not say what is wrong with %s: %v", nodeName(n), err)
		}
		if times := a.down(n) - waited[n]; c.fault.asleep && times > 1 {
			t.Errorf("%s was waited for %d times", nodeName(n), times)
		}
	}
	if c.fault.mend == nil && c.faulty >= quorum {
		return got
	}
	if c.fault.mend != nil {
		for _, n := range faulty {
			c.fault.mend(t, cl.servers[n], way[n])
		}
	}
	afterwards(t, cl, b, lease, tick, max(before.Claim().Token, tokenOf(lease)))
	return got
}

func tokenOf(l locking.Lease) locking.Token {
	if l == nil {
		return 0
	}
	return l.Claim().Token
}

// operate tries until the operation works or its error says that it cannot: a busy machine may
// lose votes where a quorum is well, and a server that will refuse may first cut the connection.
// It returns the last error.
func operate(t *testing.T, c cell, r *replica, req locking.Request, lease *locking.Lease) (seen, error) {
	t.Helper()
	got := seen{}
	for {
		got.tries++
		began := time.Now()
		err := attempt(t, c.op, r, req, lease)
		got.took = time.Since(began)
		switch {
		case err == nil:
			got.verdict = works
			return got, nil
		case got.tries < 20 && !errors.Is(err, locking.ErrLeaseLost) &&
			(c.want() == works || c.want() == refused && !errors.Is(err, locking.ErrRefused)):
			continue
		case errors.Is(err, locking.ErrNoQuorum) && !errors.Is(err, locking.ErrLeaseLost):
			got.verdict = noQuorum
		case errors.Is(err, locking.ErrRefused) && !errors.Is(err, locking.ErrLeaseLost):
			got.verdict = refused
		default:
			got.verdict = verdict(err.Error())
		}
		return got, err
	}
}

// attempt is one try of the operation.
func attempt(t *testing.T, op int, r *replica, req locking.Request, lease *locking.Lease) error {
	t.Helper()
	switch operations[op] {
	case "acquire":
		granted, err := r.TryAcquire(t.Context(), req)
		if err != nil && !typed(err) {
			t.Errorf("an error without its reason: %v", err)
		}
		if err == nil {
			*lease = granted
		}
		return err
	case "extend":
		end := (*lease).Deadline()
		err := (*lease).Extend(t.Context())
		if moved := !(*lease).Deadline().Equal(end); moved != (err == nil) {
			t.Errorf("Extend = %v, and the deadline moved: %v", err, moved)
		}
		return err
	}
	// One try: a release repeats until its context ends.
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return (*lease).Release(ctx, nil)
}

// afterwards checks, with all faults repaired, that the tick of a lease has no other owner,
// and that the next tick is claimed with a larger token.
func afterwards(t *testing.T, c *cluster, other *replica, lease locking.Lease, req locking.Request, below locking.Token) {
	t.Helper()
	if lease != nil {
		if again, err := other.TryAcquire(t.Context(), req); err == nil {
			t.Errorf("the tick was granted twice: %+v and %+v", lease.Claim(), again.Claim())
		}
		mustRelease(t, lease)
	}
	next := mustClaim(t, other, c.request(req.Tick.Add(time.Second)))
	if got := next.Claim().Token; got <= below {
		t.Errorf("token %d after %d", got, below)
	}
	mustRelease(t, next)
}

// matrixTable describes each fault, and has a row per fault and a column per operation and
// number of faulty nodes.
func matrixTable(results map[string]seen) string {
	var b strings.Builder
	for _, f := range matrixFaults() {
		fmt.Fprintf(&b, "* *%s*: %s.\n", f.name, f.what)
	}
	b.WriteString("\n| fault |")
	for _, op := range operations {
		for n := range quorum + 1 {
			fmt.Fprintf(&b, " %s, %d |", op, n)
		}
	}
	b.WriteString("\n|---" + strings.Repeat("|---", len(operations)*(quorum+1)) + "|\n")
	for _, f := range matrixFaults() {
		fmt.Fprintf(&b, "| %s |", f.name)
		for op := range operations {
			for n := range quorum + 1 {
				r, ok := results[cell{f, n, op}.String()]
				if !ok {
					b.WriteString(" |")
					continue
				}
				fmt.Fprintf(&b, " %s |", r)
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}

// String returns the result, and its duration in node timeouts.
func (s seen) String() string {
	text := fmt.Sprintf("%s %.1f", s.verdict, s.took.Seconds()/matrixTimes.timeout.Seconds())
	if s.tries > 1 {
		text += fmt.Sprintf(" (try %d)", s.tries)
	}
	return text
}

package zookeeper

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"

	"github.com/go-zookeeper/zk"
)

// An incarnation is what the node life holds: a number that grows when the ensemble was seen to have
// forgotten something, and random digits. The node has a child of that name. Every transaction
// checks the child, and sets the node to what it holds.
type incarnation struct {
	number int
	random uint64
}

func (l incarnation) String() string { return fmt.Sprintf("%d.%016x", l.number, l.random) }

// parseIncarnation is the inverse of String; the zero incarnation for anything else.
func parseIncarnation(text string) (l incarnation) {
	if _, err := fmt.Sscanf(text, "%d.%x", &l.number, &l.random); err != nil {
		return incarnation{}
	}
	return l
}

// A count tells how much was committed: it is of the node life, which every transaction sets.
type count struct {
	zxid    int64 // of the last transaction
	version int32 // how many there were; it may overflow
}

func countOf(s *zk.Stat) count { return count{s.Mzxid, s.Version} }

// below reports whether c was counted before o, or after something was forgotten.
func (c count) below(o count) bool { return c.zxid < o.zxid || c.version-o.version < 0 }

// incarnations is what a process has seen of them.
type incarnations struct {
	mu    sync.Mutex
	known incarnation
	count count // the highest in that incarnation
}

// before returns what was known before a call.
func (l *incarnations) before() (incarnation, count) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.known, l.count
}

// saw notes an answer in an incarnation.
func (l *incarnations) saw(now incarnation, c count) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now.number > l.known.number || now.number == l.known.number && (now != l.known || l.count.below(c)) {
		l.known, l.count = now, c
	}
}

// lost notes that a transaction in an incarnation has shown that something was forgotten.
func (l *incarnations) lost(in incarnation) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.known == in {
		l.count.zxid = math.MaxInt64
	}
}

// A state is what tells whether something was forgotten.
type state struct {
	incarnation incarnation // none: the namespace is new
	count       count
	stored      string // the text of the incarnation
}

// look reads the state. It is that of the last commit, or a later one.
func (s *ensemble) look(c *zk.Conn) (now state, err error) {
	if _, err = c.Sync(s.root); err != nil {
		return now, err
	}
	text, stat, err := c.Get(s.incarnationPath())
	if errors.Is(err, zk.ErrNoNode) {
		return state{}, nil
	}
	if err == nil {
		now = state{parseIncarnation(string(text)), countOf(stat), string(text)}
	}
	return now, err
}

// settle begins another incarnation if the state shows that something was forgotten, and nobody has
// noted it. Known and seen are from before. It reports whether to look again.
func (s *ensemble) settle(c *zk.Conn, now state, known incarnation, seen count) (again bool, err error) {
	if !now.forgot(known, seen) {
		return false, nil
	}
	if now.incarnation.number > 0 {
		// A leader that was deposed and does not know it may have answered. A write asks all.
		if _, err := c.Set(s.root, nil, -1); err != nil {
			return false, err
		}
		if now, err = s.look(c); err != nil || !now.forgot(known, seen) {
			return true, err
		}
	}
	return true, s.begin(c, now, known)
}

// forgot reports whether a state shows that something was forgotten, and that nobody has noted it.
func (now state) forgot(known incarnation, seen count) bool {
	return now.incarnation.number == 0 || now.incarnation.number < known.number || now.incarnation == known && now.count.below(seen)
}

func (s *ensemble) incarnationPath() string { return s.root + "/life" }

// begin notes a new incarnation in place of the one that is stored, if no other process was first.
func (s *ensemble) begin(c *zk.Conn, now state, known incarnation) error {
	next := incarnation{max(now.incarnation.number, known.number) + 1, rand.Uint64()}.String()
	at := s.incarnationPath()
	ops := []any{&zk.DeleteRequest{Path: at + "/" + escape(now.stored), Version: -1}, &zk.SetDataRequest{Path: at, Data: []byte(next), Version: -1}}
	if now.stored == "" {
		if err := s.makeDir(c, s.root); err != nil {
			return err
		}
		ops = []any{s.create(at, []byte(next))}
	}
	_, err := c.Multi(append(ops, s.create(at+"/"+next, nil))...)
	if errors.Is(err, zk.ErrNoNode) || errors.Is(err, zk.ErrNodeExists) {
		return nil // another process was first
	}
	return err
}

package zookeeper

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/go-zookeeper/zk"
	"golang.org/x/sync/errgroup"

	"github.com/quorate/quorate/internal/store/single/kv"
)

// path is that of a record. One without a Sub is in the directory of its kind, any other one in
// the directory of its name.
func (s *ensemble) path(k kv.Key) string {
	if k.Sub == "" {
		return s.dir(k.Kind) + "/" + escape(k.Name) + "="
	}
	return s.dirOf(k.Kind, k.Name) + "/" + escape(k.Sub)
}

func (s *ensemble) dir(kind kv.Kind) string { return s.root + "/" + escape(string(kind)) }

func (s *ensemble) dirOf(kind kv.Kind, name string) string { return s.dir(kind) + "/" + escape(name) }

// Read implements [kv.Store].
func (s *ensemble) Read(ctx context.Context, keys ...kv.Key) ([]kv.Record, kv.Stamp, error) {
	return view(ctx, s, func(c *cut) ([]kv.Record, error) { return each(c.ctx, keys, c.get) })
}

// List implements [kv.Store].
func (s *ensemble) List(ctx context.Context, ranges ...kv.Range) ([][]kv.Record, kv.Stamp, error) {
	return view(ctx, s, func(c *cut) ([][]kv.Record, error) { return each(c.ctx, ranges, c.list) })
}

// view reads from one moment, and finds the incarnation. It begins another incarnation if the answer shows one.
func view[T any](ctx context.Context, s *ensemble, read func(*cut) (T, error)) (found T, stamp kv.Stamp, err error) {
	type answer struct {
		state
		found T
		nodes map[string]node
		again bool
	}
	var last answer
	for {
		known, seen := s.incarnations.before()
		before := last.nodes
		last, err = do(ctx, s, true, func(ctx context.Context, conn *zk.Conn) (a answer, err error) {
			if a.state, err = s.look(conn); err != nil {
				return a, err
			}
			if a.again, err = s.settle(conn, a.state, known, seen); err != nil || a.again {
				return a, err
			}
			c := &cut{s: s, ctx: ctx, conn: conn, z: a.count.zxid, before: before, nodes: map[string]node{}}
			a.found, err = read(c)
			if a.nodes = c.nodes; err != nil || !c.doubt {
				return a, err
			}
			_, stat, err := conn.Exists(s.incarnationPath())
			a.again = err == nil && stat.Mzxid != c.z
			return a, err
		})
		if err != nil {
			return found, stamp, err
		}
		if !last.again {
			s.incarnations.saw(last.incarnation, last.count)
			return last.found, kv.Stamp{Incarnation: last.stored}, nil
		}
	}
}

// A cut reads nodes as they were at one moment: after the last commit before it, whose zxid is
// z. What was not changed after z counts. What has changed once since an attempt before was then
// as that attempt has read it. Anything else is in doubt: if there was another commit meanwhile,
// the next attempt takes a later moment.
type cut struct {
	s      *ensemble
	ctx    context.Context //nolint:containedctx // of one call
	conn   *zk.Conn
	z      int64
	before map[string]node

	mu    sync.Mutex
	nodes map[string]node
	doubt bool
}

// always is the moment of a cut that need not be one.
const always = math.MaxInt64

// A node is one that was read.
type node struct {
	data []byte
	stat zk.Stat
}

// get reads a record.
func (c *cut) get(k kv.Key) (kv.Record, error) {
	at := c.s.path(k)
	data, stat, err := c.conn.Get(at)
	if errors.Is(err, zk.ErrNoNode) {
		return kv.Record{Key: k}, c.missing(at)
	}
	if err != nil {
		return kv.Record{}, err
	}
	return parse(k, c.choose(at, node{data, *stat}))
}

// choose returns the data that a node had at the moment.
func (c *cut) choose(at string, now node) []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.nodes[at] = now
	old := c.before[at]
	switch {
	case now.stat.Mzxid <= c.z:
	case old.stat.Czxid == now.stat.Czxid && old.stat.Version+1 == now.stat.Version && old.stat.Mzxid <= c.z:
		return old.data
	default:
		c.doubt = true
	}
	return now.data
}

// missing looks at the directory of a node that there is not: it tells since when.
func (c *cut) missing(at string) error {
	if c.z == always {
		return nil
	}
	dir := path.Dir(at)
	there, stat, err := c.conn.Exists(dir)
	switch {
	case err != nil:
		return err
	case !there:
		return c.missing(dir)
	}
	c.dated(stat.Pzxid)
	return nil
}

// dated notes when the children of a directory have changed.
func (c *cut) dated(zxid int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.doubt = c.doubt || zxid > c.z
}

// list reads the records in a range.
func (c *cut) list(r kv.Range) ([]kv.Record, error) {
	children, err := c.namesIn(r)
	if err != nil {
		return nil, err
	}
	found, err := each(c.ctx, children, func(child string) ([]kv.Key, error) { return c.keys(r, child) })
	if err != nil {
		return nil, err
	}
	keys := slices.DeleteFunc(slices.Concat(found...), func(k kv.Key) bool { return !r.Holds(k) })
	slices.SortFunc(keys, func(a, b kv.Key) int {
		return kv.Point{Name: a.Name, Sub: a.Sub}.Compare(kv.Point{Name: b.Name, Sub: b.Sub})
	})
	limit := cmp.Or(r.Limit, len(keys))
	list, err := each(c.ctx, keys[:min(len(keys), limit+1)], c.get) // the first may not exist
	list = slices.DeleteFunc(list, func(r kv.Record) bool { return r.Version == 0 })
	return list[:min(len(list), limit)], err
}

// namesIn returns the nodes that have the records in a range, and others. For a range of one name
// it need not look.
func (c *cut) namesIn(r kv.Range) ([]string, error) {
	name := r.From.Name
	if r.To.Name == name && name != "" || r.To == (kv.Point{Name: name + "\x01"}) {
		return []string{escape(name) + "=", escape(name)}, nil
	}
	return c.children(c.s.dir(r.Kind))
}

// keys returns those of such a node, if its name is in the range.
func (c *cut) keys(r kv.Range, child string) (keys []kv.Key, err error) {
	text, single := strings.CutSuffix(child, "=")
	name, ours := unescape(text)
	switch {
	case !ours || name < r.From.Name || r.To != (kv.Point{}) && name > r.To.Name:
		return nil, nil
	case single:
		return []kv.Key{{Kind: r.Kind, Name: name}}, nil
	}
	list, err := c.children(c.s.dirOf(r.Kind, name))
	for _, child := range list {
		if sub, ours := unescape(child); ours {
			keys = append(keys, kv.Key{Kind: r.Kind, Name: name, Sub: sub})
		}
	}
	return keys, err
}

func (c *cut) children(dir string) ([]string, error) {
	list, stat, err := c.conn.Children(dir)
	if errors.Is(err, zk.ErrNoNode) {
		return nil, c.missing(dir)
	}
	if err == nil {
		c.dated(stat.Pzxid)
	}
	return list, err
}

// parse returns the record of a node: its version, and then its value.
func parse(k kv.Key, data []byte) (kv.Record, error) {
	if len(data) < 8 {
		return kv.Record{}, fmt.Errorf("the node of %s holds no record of this program", k)
	}
	return kv.Record{Key: k, Version: binary.BigEndian.Uint64(data), Value: data[8:]}, nil
}

// width is how many calls are under way at once.
const width = 64

// each calls f for each of a list, and returns what it returned in the same order.
func each[A, B any](ctx context.Context, list []A, f func(A) (B, error)) ([]B, error) {
	found := make([]B, len(list))
	var calls errgroup.Group
	calls.SetLimit(width)
	for i, a := range list {
		calls.Go(func() (err error) {
			if err = ctx.Err(); err == nil {
				found[i], err = f(a)
			}
			return err
		})
	}
	return found, calls.Wait()
}

package historytest

import (
	"slices"
	"strings"
	"testing"
)

// A story is a history that a test tells, call by call. Each call is answered before the next one is
// sent.
type story []*Call

// did adds a call on a connection. A negative zxid is an error answer, 0 is none.
func (s *story) did(conn string, zxid int64, ops ...Op) *Call {
	now := int64(10 * (1 + len(*s)))
	c := &Call{Conn: conn, Xid: int32(len(*s)), Ops: ops, Sent: now, Answered: now + 5, Zxid: zxid}
	switch {
	case zxid == 0:
		c.Answered = 0
	case zxid < 0:
		c.Zxid, c.Err = -zxid, noNode
	}
	*s = append(*s, c)
	return c
}

func create(path, data string) Op { return Op{Kind: Create, Path: path, Hash: hash([]byte(data))} }
func remove(path string) Op       { return Op{Kind: Delete, Path: path, Expects: -1} }
func exists(path string) Op       { return Op{Kind: Check, Path: path, Expects: -1} }
func synced() Op                  { return Op{Kind: Sync, Path: "/"} }
func get(path string) Op          { return Op{Kind: Get, Path: path} } // without an answer, or of no node

// set writes a node that was created at zxid 1, and was answered with its version.
func set(path, data string, zxid int64, version int32) Op {
	return Op{Kind: Set, Path: path, Expects: -1, Hash: hash([]byte(data)), Stat: &Stat{1, zxid, 1, version}}
}

func got(path, data string, zxid int64, version int32) Op {
	return Op{Kind: Get, Path: path, Hash: hash([]byte(data)), Stat: &Stat{1, zxid, 1, version}}
}

const leader2 = 2 << 32

// begun is a history with a node whose versions 0 and 1 were written, at zxids 1 and 2.
func begun() story {
	var s story
	s.did("a", 1, create("/n", "zero"))
	s.did("a", 2, set("/n", "one", 2, 1))
	return s
}

func TestFalseHistories(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		tell func(s *story)
		rule string
	}{
		"a later leader has lost an acknowledged write": {func(s *story) {
			s.did("b", leader2, got("/n", "zero", 1, 0))
		}, kept},
		"a lost write's version is written again": {func(s *story) {
			s.did("b", leader2, set("/n", "one", leader2, 1)) // the data are the same
		}, versionOnce},
		"an acknowledged node is gone": {func(s *story) {
			s.did("b", -3, get("/n"))
		}, kept},
		"an acknowledged node is gone, before another client may delete it": {func(s *story) {
			s.did("b", -3, get("/n"))
			s.did("a", 0, remove("/n"))
		}, kept},
		"a deleted node is back": {func(s *story) {
			s.did("a", 3, remove("/n"))
			s.did("b", 4, got("/n", "one", 2, 1))
		}, kept},
		"a child that was created is not in its parent": {func(s *story) {
			s.did("a", 3, create("/n/child", ""))
			s.did("b", 4, got("/n", "one", 2, 1))
		}, kept},
		"a child that was seen to come is not in its parent": {func(s *story) {
			s.did("a", 3, got("/n", "one", 2, 1)).Ops[0].Stat.Pzxid = 3
			s.did("b", 4, got("/n", "one", 2, 1))
		}, kept},
		"what was read is undone": {func(s *story) {
			s.did("b", 0, set("/n", "two", 0, 0)).Ops[0].Stat = nil
			s.did("a", 3, got("/n", "two", 3, 2))
			s.did("c", 4, got("/n", "one", 2, 1))
		}, kept},
		"a read after sync is stale": {func(s *story) {
			s.did("b", 1, synced())
			s.did("b", 1, got("/n", "zero", 1, 0))
		}, afterSync},
		"two win with one version of a record": {func(s *story) {
			s.did("a", 3, create("/n/v", ""))
			s.did("a", 4, remove("/n/v"))
			s.did("b", 5, remove("/n/v"))
		}, conditional},
		"a check passes, of a node that was deleted": {func(s *story) {
			s.did("a", 3, create("/n/v", ""))
			s.did("a", 4, remove("/n/v"))
			s.did("b", 5, exists("/n/v"), create("/n/w", ""))
		}, conditional},
		"a node is created twice": {func(s *story) {
			s.did("b", 3, create("/n", ""))
		}, conditional},
		"a set wins against a wrong version": {func(s *story) {
			s.did("b", 3, set("/n", "two", 3, 2)).Ops[0].Expects = 0
		}, conditional},
		"a session reads backwards": {func(s *story) {
			s.did("b", 2, got("/n", "one", 2, 1))
			s.did("b", 1, got("/n", "zero", 1, 0))
		}, forward},
		"a version comes twice with different data": {func(s *story) {
			s.did("b", 2, got("/n", "other", 2, 1))
		}, versionOnce},
		"a later version has a smaller zxid": {func(s *story) {
			s.did("a", 5, set("/n", "two", 5, 2))
			s.did("b", 4, set("/n", "three", 4, 3))
		}, versionOnce},
		"a version is left out that no call can have written": {func(s *story) {
			s.did("b", 3, set("/n", "three", 3, 3))
		}, versionOnce},
		"two writes have one zxid": {func(s *story) {
			s.did("b", 4, create("/x", ""))
			s.did("c", 4, create("/y", ""))
		}, oneOrder},
		"a write that was sent later is ordered before": {func(s *story) {
			s.did("b", 4, create("/x", ""))
			s.did("c", 3, create("/y", ""))
		}, oneOrder},
		"a write is read, of another node": {func(s *story) {
			s.did("b", 3, got("/x", "one", 2, 1))
		}, written},
		"a write that failed is read": {func(s *story) {
			s.did("b", -3, set("/n", "two", 3, 2)).Ops[0].Stat = nil
			s.did("a", 4, got("/n", "two", 3, 2))
		}, written},
	} {
		s := begun()
		tt.tell(&s)
		v := Judge(s)
		if !slices.ContainsFunc(v.Broken, func(b Breach) bool { return b.Rule == tt.rule && b.Second != nil }) {
			t.Errorf("%s: %v, want: %s", name, v.Broken, tt.rule)
		}
		for _, b := range v.Broken {
			if text := b.String(); !strings.Contains(text, b.Rule) || !strings.Contains(text, b.Second.Conn+" #") {
				t.Errorf("%s", text)
			}
		}
	}
}

func TestTrueHistories(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		tell             func(s *story)
		unknown, deposed int
	}{
		"a write without an answer has happened": {func(s *story) {
			s.did("b", 0, set("/n", "two", 0, 0), create("/n/v", "")).Ops[0].Stat = nil
			s.did("a", 3, got("/n", "two", 3, 2))
			s.did("a", 4, set("/n", "three", 4, 3)).Ops[0].Expects = 2
			s.did("a", 5, exists("/n/v"), remove("/n/v"))
		}, 1, 0},
		"a write without an answer has not happened": {func(s *story) {
			s.did("b", 0, set("/n", "two", 0, 0), create("/n/v", "")).Ops[0].Stat = nil
			s.did("a", 4, set("/n", "three", 4, 2))
			s.did("a", -5, get("/n/v"))
			s.did("a", 6, create("/n/v", ""))
		}, 1, 0},
		"a delete without an answer has happened, or not": {func(s *story) {
			s.did("b", 0, remove("/n"))
			s.did("a", -3, get("/n"))
			s.did("a", 4, create("/n", "again"))
		}, 1, 0},
		"a deleted node is gone, also in a read that knows less": {func(s *story) {
			s.did("a", 3, remove("/n"))
			s.did("a", -3, get("/n"))
			s.did("b", -2, get("/n"))
		}, 0, 0},
		"reads without sync are old": {func(s *story) {
			s.did("b", 1, got("/n", "zero", 1, 0))
			s.did("b", 2, got("/n", "one", 2, 1))
		}, 0, 0},
		"a deposed leader answers after sync": {func(s *story) {
			s.did("a", leader2, set("/n", "two", leader2, 2))
			s.did("b", 2, synced())
			s.did("b", 2, got("/n", "one", 2, 1))
		}, 0, 1},
		"ZooKeeper deletes an empty container": {func(s *story) {
			s.did("a", 3, Op{Kind: Container, Path: "/c", Hash: hash(nil)})
			s.did("b", -5, get("/c"))
			s.did("a", 6, Op{Kind: Container, Path: "/c", Hash: hash(nil)})
		}, 0, 0},
		"a multi that fails does nothing": {func(s *story) {
			s.did("b", -3, remove("/n"), create("/x", ""))
			s.did("a", 4, got("/n", "one", 2, 1))
			s.did("a", -4, get("/x"))
		}, 0, 0},
	} {
		s := begun()
		tt.tell(&s)
		if v := Judge(s); len(v.Broken) > 0 || v.Unknown != tt.unknown || v.Deposed != tt.deposed {
			t.Errorf("%s: %v: %v", name, v, v.Broken)
		}
	}
}

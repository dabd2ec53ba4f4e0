package historytest

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
)

// A Kind is what an operation does.
type Kind string

// The kinds of operations that the adapter uses.
const (
	Create    Kind = "create"
	Container Kind = "create container" // ZooKeeper deletes it some time after its last child
	Set       Kind = "set"
	Delete    Kind = "delete"
	Check     Kind = "check"
	Get       Kind = "get"
	Exists    Kind = "exists"
	Children  Kind = "children"
	Sync      Kind = "sync"

	multi  Kind = "multi"
	failed Kind = "failed" // stands in the answer to a multi
)

// kindOf is what a number means in ZooKeeper's protocol.
func kindOf(number int32) Kind {
	return map[int32]Kind{
		1: Create, 19: Container, 5: Set, 2: Delete, 13: Check, 4: Get, 3: Exists, 12: Children, 9: Sync, 14: multi, -1: failed,
	}[number]
}

// frames splits what passes into messages. The first one is the greeting.
type frames struct {
	rest    []byte
	greeted bool
}

func (f *frames) feed(b []byte, do func(frame []byte)) {
	f.rest = append(f.rest, b...)
	for len(f.rest) >= 4 {
		end := 4 + int(binary.BigEndian.Uint32(f.rest))
		if len(f.rest) < end {
			return
		}
		if f.greeted {
			do(f.rest[4:end])
		}
		f.greeted, f.rest = true, f.rest[end:]
	}
}

// request returns the call that a message asks for; nil for a ping, and others that no rule is about.
func request(frame []byte) *Call {
	r := reader{rest: frame}
	c := &Call{Xid: r.int32()}
	kind := kindOf(r.int32())
	if kind == "" {
		return nil
	}
	if kind != multi {
		c.Ops = []Op{r.op(kind)}
		return c
	}
	c.multi = true
	for {
		kind, done, _ := kindOf(r.int32()), r.bool(), r.int32()
		if done || kind == "" {
			return c
		}
		c.Ops = append(c.Ops, r.op(kind))
	}
}

func (r *reader) op(kind Kind) Op {
	o := Op{Kind: kind, Path: string(r.bytes())}
	switch kind {
	case Create, Container:
		o.Hash = hash(r.bytes())
		for range r.int32() { // the ACLs
			_, _, _ = r.int32(), r.bytes(), r.bytes()
		}
		r.int32()
	case Set:
		o.Hash = hash(r.bytes())
		o.Expects = r.int32()
	case Delete, Check:
		o.Expects = r.int32()
	}
	return o
}

// answer reads the rest of a message, after its Xid.
func (c *Call) answer(r *reader) {
	c.Zxid, c.Err = r.int64(), r.int32()
	for i := range c.Ops {
		o := &c.Ops[i]
		kind := o.Kind
		switch {
		case c.Err != 0 && !c.multi:
			return
		case c.multi:
			kind, _, _ = kindOf(r.int32()), r.bool(), r.int32()
		}
		switch kind {
		case failed: // each operation of a multi that failed, of which one has a code
			c.Err = cmp.Or(c.Err, r.int32())
		case Create, Sync:
			r.bytes()
		case Get:
			o.Hash, o.Stat = hash(r.bytes()), r.stat()
		case Children:
			for range r.int32() {
				r.bytes()
			}
			o.Stat = r.stat()
		case Exists, Set:
			o.Stat = r.stat()
		}
	}
}

// hash tells data apart; no data and empty data are the same.
func hash(data []byte) string {
	if len(data) == 0 {
		return "empty"
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:8])
}

// A reader reads a message of ZooKeeper, which Jute has written. At its end it returns zeros.
type reader struct{ rest []byte }

func (r *reader) take(n int) []byte {
	if n < 0 || n > len(r.rest) {
		r.rest = nil
		return make([]byte, 8)
	}
	taken := r.rest[:n]
	r.rest = r.rest[n:]
	return taken
}

func (r *reader) bool() bool   { return r.take(1)[0] != 0 }
func (r *reader) int32() int32 { return int32(binary.BigEndian.Uint32(r.take(4))) }
func (r *reader) int64() int64 { return int64(binary.BigEndian.Uint64(r.take(8))) }

func (r *reader) bytes() []byte {
	if n := r.int32(); n > 0 {
		return r.take(int(n))
	}
	return nil // -1 stands for none
}

func (r *reader) stat() *Stat {
	s := &Stat{Czxid: r.int64(), Mzxid: r.int64()}
	r.take(8 + 8) // times
	s.Version = r.int32()
	r.take(4 + 4 + 8 + 4 + 4) // other versions, the owner, sizes
	s.Pzxid = r.int64()
	return s
}

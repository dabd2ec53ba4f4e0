// Package transfer writes the contents of another store to new nodes. The nodes are sealed
// meanwhile: they refuse replicas. All nodes must answer.
package transfer

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/quorate/quorate/internal/store/quorum/membership"
	"github.com/quorate/quorate/internal/store/quorum/scripts"
	"github.com/quorate/quorate/locking"
)

//go:embed *.lua
var files embed.FS

func script(name string) *membership.Script {
	return membership.NewScript("copy-"+name, membership.Lua(files, name)).AcceptSealed()
}

var begin, put, marks, finish = script("begin"), script("put"), script("marks"), script("finish")

// ErrServed means that a replica, or a copy, has written to a node.
var ErrServed = errors.New("it has served this namespace, or a copy to it was cut off")

// all returns an error unless every node has answered OK.
func all(doing string, replies []membership.Reply) error {
	for _, r := range replies {
		err := r.Err
		switch {
		case err != nil:
			err = fmt.Errorf("%w: a copy needs all nodes: %w", locking.ErrNoQuorum, err)
		case r.Code == "SERVED":
			err = ErrServed
		case r.Code != "OK":
			err = errors.New("it has restarted, or is not sealed for a copy")
		}
		if err != nil {
			return fmt.Errorf("%s: %w", doing, locking.NodeError{Node: r.Node, Err: err})
		}
	}
	return nil
}

// Begin seals the nodes. It formats blank ones before. It returns the clock of the node that is
// furthest behind. The error matches ErrServed if something was written to a node.
func Begin(ctx context.Context, set *membership.Set) (now time.Time, err error) {
	replies := set.Call(ctx, marks, nil)
	if slices.ContainsFunc(replies, func(r membership.Reply) bool { return errors.Is(r.Err, membership.ErrBlank) }) {
		if err := set.Init(ctx, false); err != nil {
			return now, err
		}
		replies = set.Call(ctx, marks, nil)
	}
	const doing = "sealing the nodes for a copy"
	if err := all(doing, replies); err != nil { // before one of them is sealed
		return now, err
	}
	replies = set.Call(ctx, begin, nil)
	for i, r := range replies {
		if i == 0 || r.NodeTime.Before(now) {
			now = r.NodeTime
		}
	}
	return now, all(doing, replies)
}

// A Value is the value of a key, or with a Score a member of a sorted set.
type Value struct{ Key, Score, Text string }

// valuesAtOnce bounds the values of a call: a node must answer soon.
const valuesAtOnce = 100

// Put writes values to all nodes.
func Put(ctx context.Context, set *membership.Set, values []Value) error {
	for some := range slices.Chunk(values, valuesAtOnce) {
		var keys []string
		var args []any
		for _, v := range some {
			i := slices.Index(keys, v.Key)
			if i < 0 {
				i, keys = len(keys), append(keys, v.Key)
			}
			args = append(args, i+2, v.Score, v.Text)
		}
		if err := all("writing a copy", set.Call(ctx, put, keys, args...)); err != nil {
			return err
		}
	}
	return nil
}

// Claim returns what stores a claim without a lease. Its name also needs a [Fence].
func Claim(set *membership.Set, h locking.Holding) Value {
	c := scripts.Claim{
		Token: uint64(h.Token), Owner: fmt.Sprintf("copied-%d", h.Token), Mode: h.Mode, Attempt: h.Attempt, Overlaps: h.Beside,
		Stream: h.Stream, Holder: h.Holder,
	}
	if !h.Tick.IsZero() {
		c.Tick = h.Tick.UnixMilli()
	}
	state := "r" // it ended, and its tick is not done: see finish.lua
	switch {
	case h.Void:
		state = "V"
	case h.Done:
		state = "O"
	}
	return Value{Key: scripts.ClaimKey(set, h.Name, h.Stream), Text: state + c.Pack()}
}

// Fence returns what stores the largest token and the streams of a name, as commit.lua does.
func Fence(set *membership.Set, name string, token uint64, streams string) Value {
	return Value{Key: set.JobKey(name, "fence"), Text: fmt.Sprintf("%d - - %s", token, streams)}
}

// Marks are what the nodes know of all jobs together.
type Marks struct {
	Since int64  // since when a quorum remembers, in milliseconds; 0: always
	Fence uint64 // the largest token of forgotten jobs
	Tick  int64  // their latest tick
}

// ReadMarks reads the marks of the nodes that answer, of which there must be a quorum.
func ReadMarks(ctx context.Context, set *membership.Set) (m Marks, err error) {
	const doing = "reading what the nodes remember"
	good, err := set.Answers(doing, set.Call(ctx, marks, nil))
	if err != nil {
		return m, err
	}
	var since []int64
	for _, r := range good {
		if r.Arg(3) == "1" {
			return m, fmt.Errorf("%s: %s: a copy to it has not finished", doing, r.Node)
		}
		since = append(since, r.Int(0))
		m.Fence, m.Tick = max(m.Fence, uint64(r.Int(1))), max(m.Tick, r.Int(2))
	}
	slices.Sort(since)
	m.Since = since[set.Quorum()-1] // the others may lack what was claimed before
	return m, nil
}

// End opens the nodes for replicas.
func End(ctx context.Context, set *membership.Set, m Marks) error {
	return all("opening the nodes", set.Call(ctx, finish, nil, m.Since, m.Fence, m.Tick))
}

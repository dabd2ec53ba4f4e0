// Package historytest records what ZooKeeper's clients send and receive, and checks whether the answers
// keep what ZooKeeper promises. Tests use it to tell a store that forgot from an adapter that erred.
//
// A [Recorder] reads along on network connections, below ZooKeeper's client. So a history has
// answers that came too late for the caller, and what the client or the adapter made of an
// answer does not matter. [Judge] says what it cannot see.
package historytest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// A Call is one request to a server, and its answer.
type Call struct {
	Conn string // the process, and which of its connections; each is a session of its own
	Xid  int32  // the client's number in that connection
	Ops  []Op

	// Sent is just before the request was sent, Answered just after the answer was read, in
	// nanoseconds of the machine's clock. Answered is 0 if no answer came: a write may have happened.
	Sent, Answered int64

	Zxid int64 `json:",omitempty"` // of the write itself; for a read, all writes up to it are in the answer
	Err  int32 `json:",omitempty"` // code of ZooKeeper; for a multi, of the operation that failed

	multi bool
}

// An Op is one operation of a call, and its part of the answer.
type Op struct {
	Kind    Kind
	Path    string
	Expects int32  `json:",omitempty"` // the version that a condition names; -1: any
	Hash    string `json:",omitempty"` // of the data that were written or read
	Stat    *Stat  `json:",omitempty"`
}

// A Stat is what an answer tells of a node.
type Stat struct {
	Czxid, Mzxid, Pzxid int64 // which write created it, wrote its data, changed its children
	Version             int32 // of its data
}

// A Recorder writes the calls of one process to a file: a line before a call is sent, and another
// one with its answer. What a killed process has sent is in the file.
type Recorder struct {
	mu    sync.Mutex
	file  *os.File
	conns int
}

// NewRecorder begins a file in a directory.
func NewRecorder(dir string) (*Recorder, error) {
	f, err := os.CreateTemp(dir, fmt.Sprintf("%d-*.jsonl", os.Getpid()))
	if err != nil {
		return nil, fmt.Errorf("recording a history: %w", err)
	}
	return &Recorder{file: f}, nil
}

// Wrap returns a connection whose calls are recorded. Nothing may have passed on it yet.
func (r *Recorder) Wrap(c net.Conn) net.Conn {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.conns++
	name := fmt.Sprintf("%s/%d", filepath.Base(r.file.Name()), r.conns)
	return &conn{Conn: c, recorder: r, name: name, pending: map[int32]*Call{}}
}

// note writes a call. A history that lacks calls would accuse ZooKeeper, so it fails loudly.
func (r *Recorder) note(c *Call) {
	line, err := json.Marshal(c)
	if err == nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		_, err = r.file.Write(append(line, '\n'))
	}
	if err != nil {
		panic(fmt.Sprintf("recording a history: %v", err))
	}
}

// A conn reads along.
type conn struct {
	net.Conn
	recorder          *Recorder
	name              string
	requests, answers frames

	mu      sync.Mutex
	pending map[int32]*Call // by their Xid
}

func (c *conn) Write(b []byte) (int, error) {
	c.requests.feed(b, func(frame []byte) {
		call := request(frame)
		if call == nil {
			return
		}
		call.Conn, call.Sent = c.name, time.Now().UnixNano()
		c.mu.Lock()
		c.pending[call.Xid] = call
		c.mu.Unlock()
		c.recorder.note(call)
	})
	return c.Conn.Write(b) //nolint:wrapcheck // it stands for the connection
}

func (c *conn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.answers.feed(b[:n], func(frame []byte) {
		r := reader{rest: frame}
		xid := r.int32()
		c.mu.Lock()
		call := c.pending[xid]
		delete(c.pending, xid)
		c.mu.Unlock()
		if call != nil {
			call.answer(&r)
			call.Answered = time.Now().UnixNano()
			c.recorder.note(call)
		}
	})
	return n, err //nolint:wrapcheck // it stands for the connection
}

// Load returns the calls that processes have recorded in a directory, those of a connection in the
// order in which they were sent. A process that was killed may have left half a line: of a call
// that it did not send, or of an answer that it did not use.
func Load(dir string) (calls []*Call, err error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	for _, name := range files {
		text, readErr := os.ReadFile(name)
		err = cmp.Or(err, readErr)
		type id struct {
			conn string
			xid  int32
		}
		known := map[id]*Call{}
		for line := range bytes.Lines(text[:bytes.LastIndexByte(text, '\n')+1]) {
			c := &Call{}
			if bad := json.Unmarshal(line, c); bad != nil {
				return nil, fmt.Errorf("%s: %w", name, bad)
			}
			if sent := known[id{c.Conn, c.Xid}]; sent != nil {
				*sent = *c
				continue
			}
			known[id{c.Conn, c.Xid}] = c
			calls = append(calls, c)
		}
	}
	return calls, err
}

package execjob

import (
	"bufio"
	"errors"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"
)

const (
	keptOutput = 4 << 10  // bytes of output kept for the error of a run
	longestRow = 4 << 10  // bytes of a line that are logged in one piece
	mostLogged = 64 << 10 // bytes of output that are logged per run
	lastWords  = time.Second
)

// output takes what a command writes: each line to the log, the end of it to
// the tail.
type output struct {
	log            *slog.Logger
	stdout, stderr stream

	mu     sync.Mutex // of the two readers
	tail   tail
	logged int
}

// A stream is one of the command's two, as a pipe.
type stream struct {
	r, w *os.File
	read chan struct{} // closed when nothing more can come
}

// newOutput returns an output that listens.
func newOutput(log *slog.Logger) (*output, error) {
	o := &output{log: log}
	for name, s := range o.streams() {
		var err error
		if s.r, s.w, err = os.Pipe(); err != nil {
			o.finish()
			return nil, err
		}
		s.read = make(chan struct{})
		go func() {
			defer close(s.read)
			o.consume(name, s.r)
		}()
	}
	return o, nil
}

func (o *output) streams() map[string]*stream {
	return map[string]*stream{"stdout": &o.stdout, "stderr": &o.stderr}
}

// closeWriters leaves the writing ends to the command.
func (o *output) closeWriters() {
	for _, s := range o.streams() {
		if s.w != nil {
			_ = s.w.Close() // the second time it is closed already
		}
	}
}

// finish returns when everything written so far was taken. A process that left
// the group may hold the pipe open: it is not waited for.
func (o *output) finish() {
	o.closeWriters()
	for _, s := range o.streams() {
		if s.r == nil {
			continue
		}
		// A pipe always takes a deadline, unless it is closed.
		_ = s.r.SetReadDeadline(time.Now().Add(lastWords))
		<-s.read
		_ = s.r.Close()
	}
}

// logEnd logs the end of an output of which a part was left out. It is for when
// nothing more comes.
func (o *output) logEnd() {
	if o.logged <= mostLogged {
		return
	}
	for line := range strings.Lines(o.tail.String()) {
		o.log.Info("output", slog.String("stream", "end"), slog.String("line", strings.TrimRight(line, "\r\n")))
	}
}

// consume reads lines until the pipe ends. A line without an end, or a longer
// one than is logged at once, is taken in pieces.
func (o *output) consume(name string, r io.Reader) {
	lines := bufio.NewReaderSize(r, longestRow)
	for {
		line, err := lines.ReadSlice('\n')
		if len(line) > 0 {
			o.take(name, string(line))
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return
		}
	}
}

// take notes a line and logs it, as long as there is room in the log.
func (o *output) take(name, line string) {
	o.mu.Lock()
	o.tail.add(line)
	before := o.logged
	o.logged += len(line)
	o.mu.Unlock()
	switch {
	case before+len(line) <= mostLogged:
		text := strings.ToValidUTF8(strings.TrimRight(line, "\r\n"), "\uFFFD")
		o.log.Info("output", slog.String("stream", name), slog.String("line", text))
	case before <= mostLogged:
		o.log.Warn("the command writes more than is logged, the rest is left out", slog.Int("bytes", mostLogged))
	}
}

// A tail keeps the end of what is added.
type tail struct {
	text []byte
	cut  bool
}

func (t *tail) add(s string) {
	t.text = append(t.text, s...)
	if len(t.text) > 2*keptOutput { // seldom, so that a flood is not copied line by line
		t.trim()
	}
}

func (t *tail) trim() {
	if over := len(t.text) - keptOutput; over > 0 {
		t.text, t.cut = append(t.text[:0], t.text[over:]...), true
	}
}

// String returns the end of the output, with a mark where it was cut.
func (t *tail) String() string {
	t.trim()
	text := strings.TrimSpace(strings.ToValidUTF8(string(t.text), ""))
	if t.cut {
		return "… " + text
	}
	return text
}

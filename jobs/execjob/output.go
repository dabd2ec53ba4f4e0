package execjob

import (
	"bytes"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/quorate/quorate/internal/mask"
)

const (
	maxTail      = 4 << 10  // bytes of output kept for the error of a run
	maxLine      = 4 << 10  // bytes of a line that are logged in one piece
	maxLogged    = 64 << 10 // bytes of output that are logged per run
	drainTimeout = time.Second
)

// output logs each line that the command writes, and keeps the end for the run's error. All
// of it is masked before it is cut.
type output struct {
	log            *slog.Logger
	mask           *mask.Mask
	stdout, stderr stream

	mu     sync.Mutex // of the two readers
	tail   tail
	logged int
}

// A stream is standard output or error, as a pipe.
type stream struct {
	r, w *os.File
	read chan struct{} // closed when the reader has ended
}

// newOutput returns an output whose readers run.
func newOutput(log *slog.Logger, hide *mask.Mask) (*output, error) {
	o := &output{log: log, mask: hide}
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

// closeWriters closes this process's writing ends.
func (o *output) closeWriters() {
	for _, s := range o.streams() {
		if s.w != nil {
			_ = s.w.Close() // a second close fails
		}
	}
}

// finish returns when everything written so far was read. It does not wait for a
// process that left the group and still holds the pipe open.
func (o *output) finish() {
	o.closeWriters()
	for _, s := range o.streams() {
		if s.r == nil {
			continue
		}
		// Fails only if the pipe is closed.
		_ = s.r.SetReadDeadline(time.Now().Add(drainTimeout))
		<-s.read
		_ = s.r.Close()
	}
}

// logEnd logs the end of an output that was not logged completely. Call it after
// finish.
func (o *output) logEnd() {
	if o.logged <= maxLogged {
		return
	}
	for line := range strings.Lines(o.tail.String()) {
		o.log.Info("output", slog.String("stream", "end"), slog.String("line", shown(line)))
	}
}

// consume reads lines until the pipe ends.
func (o *output) consume(name string, r io.Reader) {
	lines := &lineWriter{take: func(line string) { o.take(name, line) }}
	masked := o.mask.Writer(lines)
	_, _ = io.Copy(masked, r) // the pipe ends, or its deadline is over
	_ = masked.Close()        // lines take everything
	lines.close()
}

// A lineWriter takes a text line by line, and a line longer than maxLine in pieces.
type lineWriter struct {
	take func(line string) // with its line break, if it has one
	text []byte
}

func (w *lineWriter) Write(text []byte) (int, error) {
	w.text = append(w.text, text...)
	rest := w.text
	for len(rest) > 0 {
		n := 1 + bytes.IndexByte(rest, '\n')
		if n > maxLine+len("\r\n") || n == 0 && len(rest) > maxLine+len("\r") {
			for n = maxLine; n > maxLine-utf8.UTFMax && !utf8.RuneStart(rest[n]); n-- {
			}
		}
		if n == 0 {
			break
		}
		w.take(string(rest[:n]))
		rest = rest[n:]
	}
	w.text = append(w.text[:0], rest...)
	return len(text), nil
}

// close takes a last line without a line break.
func (w *lineWriter) close() {
	if len(w.text) > 0 {
		w.take(string(w.text))
	}
}

// take records a line, and logs it while the limit allows.
func (o *output) take(name, line string) {
	o.mu.Lock()
	o.tail.add(line)
	before := o.logged
	o.logged += len(line)
	o.mu.Unlock()
	switch {
	case before+len(line) <= maxLogged:
		o.log.Info("output", slog.String("stream", name), slog.String("line", shown(line)))
	case before <= maxLogged:
		o.log.Warn("output limit reached: the rest is not logged", slog.Int("bytes", maxLogged))
	}
}

// shown returns a line without its line break, and with a mark for what is no text.
func shown(line string) string {
	if text, ended := strings.CutSuffix(line, "\n"); ended {
		line = strings.TrimSuffix(text, "\r")
	}
	return strings.ToValidUTF8(line, "\uFFFD")
}

// A tail keeps the end of the text added.
type tail struct {
	text []byte
	cut  bool
}

func (t *tail) add(s string) {
	t.text = append(t.text, s...)
	if len(t.text) > 2*maxTail { // rarely, so a flood of output is not copied line by line
		t.trim()
	}
}

func (t *tail) trim() {
	if over := len(t.text) - maxTail; over > 0 {
		for n := 1; n < utf8.UTFMax && !utf8.RuneStart(t.text[over]); n++ { // half a letter
			over++
		}
		t.text, t.cut = append(t.text[:0], t.text[over:]...), true
	}
}

// String returns the end of the output, with a mark where it was cut.
func (t *tail) String() string {
	t.trim()
	text := strings.TrimSpace(strings.ToValidUTF8(string(t.text), "\uFFFD"))
	if t.cut {
		return "… " + text
	}
	return text
}

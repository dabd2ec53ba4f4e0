package dashboard_test

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quorate/quorate/replica/settings"
	"github.com/quorate/quorate/scheduler/identity"
	"github.com/quorate/quorate/scheduler/ledger"
)

// A stream is an answer of server-sent events that is being read.
type stream struct {
	status int
	ended  chan struct{} // closed when the server has ended it
	stop   context.CancelFunc
}

// open begins to read events as somebody, and waits until the answer has begun.
func (r *rig) open(who secret, path string, mend ...func(*http.Request)) *stream {
	r.Helper()
	ctx, cancel := context.WithCancel(r.Context())
	req := httptest.NewRequestWithContext(ctx, http.MethodGet, path, nil)
	req.RemoteAddr = "192.0.2.1:4711"
	if who.token != "" {
		req.Header.Set("Authorization", "Bearer "+who.token)
	}
	for _, m := range mend {
		m(req)
	}
	s := &stream{ended: make(chan struct{}), stop: cancel}
	body, w := io.Pipe()
	begun := make(chan int, 1)
	go func() {
		defer close(s.ended)
		r.ServeHTTP(&streamed{header: http.Header{}, body: w, begun: begun}, req)
		_ = w.Close()
	}()
	go func() { _, _ = io.Copy(io.Discard, bufio.NewReader(body)) }()
	s.status = <-begun
	r.Cleanup(func() {
		cancel()
		<-s.ended
	})
	return s
}

// streamed is the writer of a stream.
type streamed struct {
	header http.Header
	body   io.Writer
	begun  chan int
}

func (w *streamed) Header() http.Header         { return w.header }
func (w *streamed) WriteHeader(status int)      { w.begun <- status }
func (w *streamed) Write(b []byte) (int, error) { return w.body.Write(b) }
func (w *streamed) Flush()                      {}

// open reports whether the stream goes on.
func (s *stream) open() bool {
	select {
	case <-s.ended:
		return false
	default:
		return true
	}
}

// running lets a run go on that nobody ends, and returns where its events are.
func (r *rig) running() string {
	e := r.run(time.Now().Truncate(time.Second), ledger.Running)
	return "/api/v1/runs/" + url.PathEscape(e.ID()) + "/events"
}

// Streams end when the users change: who was removed, or has another role, reads
// neither the cluster's events nor those of a run any longer.
func TestStreamsEndWithTheRight(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		cluster, run := r.open(viewer, "/api/v1/events"), r.open(viewer, r.running())
		synctest.Wait()
		if !cluster.open() || !run.open() {
			t.Fatalf("a viewer cannot follow: %d, %d", cluster.status, run.status)
		}
		r.must(r.SetUsers(map[string]settings.User{admin.name: stored()[admin.name], operator.name: stored()[operator.name]}))
		synctest.Wait()
		if cluster.open() || run.open() {
			t.Errorf("after the viewer was removed: cluster's events go on: %v, run's: %v", cluster.open(), run.open())
		}
		if again := r.open(viewer, "/api/v1/events"); again.status != http.StatusUnauthorized {
			t.Errorf("the removed viewer connects again: %d", again.status)
		}
	})
}

// A service that identifies its users itself is asked again while a stream goes on.
func TestStreamsAskTheServiceAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		in := new(atomic.Bool)
		in.Store(true)
		r := newRig(t, func(c *setup) {
			c.Identify = func(*http.Request) (identity.Identity, bool) {
				return identity.Identity{Name: "carl", Role: identity.Viewer}, in.Load()
			}
		})
		cluster, run := r.open(nobody, "/api/v1/events"), r.open(nobody, r.running())
		time.Sleep(20 * time.Second)
		if !cluster.open() || !run.open() {
			t.Fatal("a stream ended while its user may read")
		}
		in.Store(false)
		time.Sleep(20 * time.Second)
		if cluster.open() || run.open() {
			t.Errorf("after the session ended: cluster's events go on: %v, run's: %v", cluster.open(), run.open())
		}
	})
}

// One client takes a share of the places for events, and others still get one.
func TestOneClientTakesAShareOfTheStreams(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, func(c *setup) { c.Listeners, c.Anonymous = 8, identity.AnonymousAll })
		run := r.running()
		for _, greedy := range []secret{viewer, nobody} {
			taken := 0
			for n := range 12 {
				path := "/api/v1/events"
				if n%2 == 1 {
					path = run
				}
				if s := r.open(greedy, path); s.status == http.StatusOK {
					taken++
				}
			}
			if taken != 2 {
				t.Errorf("%q took %d of 8 places, want a quarter", greedy.name, taken)
			}
		}
		if s := r.open(admin, "/api/v1/events"); s.status != http.StatusOK {
			t.Errorf("nobody else gets a place: %d", s.status)
		}
		other := r.open(nobody, "/api/v1/events", from("198.51.100.9:1", "q"))
		if other.status != http.StatusOK {
			t.Errorf("another address gets no place: %d", other.status)
		}
		other.stop()
		synctest.Wait()
		for range 2 {
			if s := r.open(nobody, "/api/v1/events", from("198.51.100.9:1", "q")); s.status != http.StatusOK {
				t.Errorf("a place that was given back is not free: %d", s.status)
			}
		}
	})
}

// The sum of the streams is bounded, however many clients there are.
func TestStreamsAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, func(c *setup) { c.Listeners, c.Anonymous = 3, identity.AnonymousAll })
		var got []string
		for _, address := range []string{"192.0.2.1:1", "192.0.2.2:1", "192.0.2.3:1", "192.0.2.4:1"} {
			got = append(got, http.StatusText(r.open(nobody, "/api/v1/events", from(address, "q")).status))
		}
		if want := "OK OK OK Service Unavailable"; strings.Join(got, " ") != want {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

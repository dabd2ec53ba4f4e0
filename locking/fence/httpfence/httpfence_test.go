package httpfence_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/locking/fence"
	"github.com/quorate/quorate/locking/fence/fencetest"
	"github.com/quorate/quorate/locking/fence/httpfence"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func claim(resource string, token locking.Token) locking.Claim {
	return locking.Claim{Name: resource, Token: token}
}

// serve serves h and returns its address and a client that sends tokens.
func serve(tb testing.TB, h http.Handler) (string, *http.Client) {
	tb.Helper()
	s := httptest.NewServer(h)
	tb.Cleanup(s.Close)
	return s.URL, &http.Client{Transport: httpfence.Transport{Base: s.Client().Transport}}
}

// send sends b's token, or none for nil.
func send(ctx context.Context, client *http.Client, b fence.Bearer, url, body string) (*http.Response, error) {
	if b != nil {
		ctx = httpfence.WithBearer(ctx, b)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	return client.Do(req)
}

// notes is a service that keeps the note of a resource.
type notes struct {
	mu    sync.Mutex
	texts map[string]string
	pause func(text string) // called by the handler before it writes
}

func (n *notes) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	b, _ := httpfence.BearerFrom(r.Context())
	resource, _ := b.Fence()
	text, _ := io.ReadAll(r.Body)
	n.pause(string(text))
	n.mu.Lock()
	defer n.mu.Unlock()
	n.texts[resource] = string(text)
}

// sink writes notes through the wire.
type sink struct {
	*notes
	url    string
	client *http.Client

	mu     sync.Mutex
	pauses map[string]func()
}

func (s *sink) Write(ctx context.Context, b fence.Bearer, value string) error {
	if b == nil {
		b = claim("", 0) // without a bearer the transport sends no token
	}
	resp, err := send(ctx, s.client, b, s.url, value)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if stale := httpfence.StaleFrom(resp); stale != nil {
		return stale
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("status %d", resp.StatusCode)
	}
	return nil
}

func (s *sink) WriteSlowly(ctx context.Context, b fence.Bearer, value string, pause func()) error {
	s.mu.Lock()
	s.pauses[value] = pause
	s.mu.Unlock()
	return s.Write(ctx, b, value)
}

func (s *sink) Read(_ context.Context, resource string) (string, error) {
	s.notes.mu.Lock()
	defer s.notes.mu.Unlock()
	return s.texts[resource], nil
}

func TestConformance(t *testing.T) {
	t.Parallel()
	fencetest.Run(t, func(tb testing.TB) fencetest.Sink {
		tb.Helper()
		s := &sink{notes: &notes{texts: map[string]string{}}, pauses: map[string]func(){}}
		s.pause = func(text string) {
			s.mu.Lock()
			pause := s.pauses[text]
			s.mu.Unlock()
			if pause != nil {
				pause()
			}
		}
		s.url, s.client = serve(tb, (&httpfence.Middleware{Guard: fence.NewMemory()}).Wrap(s.notes))
		return s
	})
}

// ok is a handler that answers with the bearer it finds.
func ok(w http.ResponseWriter, r *http.Request) {
	b, found := httpfence.BearerFrom(r.Context())
	if !found {
		_, _ = io.WriteString(w, "nobody")
		return
	}
	resource, token := b.Fence()
	_, _ = fmt.Fprintf(w, "%s %d", resource, token)
}

// broken is a guard that always fails.
type broken struct{}

func (broken) Admit(context.Context, fence.Bearer) error { return errors.New("host db7 is down") }

func TestMiddleware(t *testing.T) {
	t.Parallel()
	fixed := func(r *http.Request) string { return "path " + r.URL.Path }
	tests := map[string]struct {
		m        *httpfence.Middleware
		token    string
		resource string
		status   int
		body     string // in the answer
	}{
		"admitted":             {&httpfence.Middleware{Guard: fence.NewMemory()}, "7", "a%2Fb", 200, "a/b 7"},
		"resource by path":     {&httpfence.Middleware{Guard: fence.NewMemory(), Resource: fixed}, "7", "mine", 200, "path / 7"},
		"checked by handler":   {&httpfence.Middleware{}, "7", "r", 200, "r 7"},
		"no token":             {&httpfence.Middleware{Guard: fence.NewMemory()}, "", "r", 428, "needs a Fencing-Token"},
		"no token is optional": {&httpfence.Middleware{Guard: fence.NewMemory(), Optional: true}, "", "r", 200, "nobody"},
		"bad token":            {&httpfence.Middleware{Guard: fence.NewMemory(), Optional: true}, "-7", "r", 400, "no number"},
		"token 0":              {&httpfence.Middleware{}, "0", "r", 400, "it is 0"},
		"too large a token":    {&httpfence.Middleware{}, "9007199254740992", "r", 400, "is above"},
		"no resource":          {&httpfence.Middleware{Guard: fence.NewMemory()}, "7", "", 400, "a resource of 0 bytes"},
		"bad resource":         {&httpfence.Middleware{Guard: fence.NewMemory()}, "7", "%zz", 400, "not percent-encoded"},
		"guard cannot tell":    {&httpfence.Middleware{Guard: broken{}}, "7", "r", 503, "could not be checked"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", nil)
			if tt.token != "" {
				req.Header.Set("Fencing-Token", tt.token)
			}
			req.Header.Set("Fencing-Resource", tt.resource)
			w := httptest.NewRecorder()
			tt.m.Wrap(http.HandlerFunc(ok)).ServeHTTP(w, req)
			if w.Code != tt.status || !strings.Contains(w.Body.String(), tt.body) || strings.Contains(w.Body.String(), "db7") {
				t.Errorf("%d: %s; want %d with %q", w.Code, w.Body, tt.status, tt.body)
			}
			if media := w.Header().Get("Content-Type"); w.Code != 200 && (media != "application/problem+json" || !json.Valid(w.Body.Bytes())) {
				t.Errorf("%s: %s; want a problem", media, w.Body)
			}
		})
	}
}

// What goes over the wire, for writers and sinks in other languages.
// Routes behind one guard check and write as one step together: a stale writer that
// one route has let in is not overtaken by a newer one at another.
func TestRoutesShareTheGate(t *testing.T) {
	t.Parallel()
	for name, middlewares := range map[string]func() (create, cancel *httpfence.Middleware){
		"of one Middleware": func() (create, cancel *httpfence.Middleware) {
			m := &httpfence.Middleware{Guard: fence.NewMemory()}
			return m, m
		},
		"of two with one gate": func() (create, cancel *httpfence.Middleware) {
			g := fence.NewGate(fence.NewMemory())
			return &httpfence.Middleware{Guard: g}, &httpfence.Middleware{Guard: g}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				create, cancel := middlewares()
				var written []string
				write := func(m *httpfence.Middleware, lasts time.Duration) func(token string) int {
					route := m.Wrap(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
						time.Sleep(lasts)
						written = append(written, r.Header.Get(fence.HeaderToken))
					}))
					return func(token string) int {
						r, w := httptest.NewRequest(http.MethodPost, "/", http.NoBody), httptest.NewRecorder()
						r.Header.Set(fence.HeaderToken, token)
						r.Header.Set(fence.HeaderResource, "orders")
						route.ServeHTTP(w, r)
						return w.Code
					}
				}
				slow, quick := write(cancel, time.Second), write(create, 0)
				var stale int
				go func() { stale = slow("5") }() // admitted, and still about to write
				synctest.Wait()
				if code := quick("7"); code != http.StatusOK {
					t.Errorf("token 7 = %d, want 200", code)
				}
				synctest.Wait()
				if stale != http.StatusOK || !slices.Equal(written, []string{"5", "7"}) {
					t.Errorf("token 5 = %d; tokens wrote in the order %v, want 5 before 7", stale, written)
				}
				if code := slow("5"); code != http.StatusPreconditionFailed {
					t.Errorf("token 5 after token 7 = %d, want 412", code)
				}
			})
		})
	}
}

func TestRefusalOnTheWire(t *testing.T) {
	t.Parallel()
	guard := fence.NewMemory()
	if err := guard.Admit(t.Context(), claim("year end", 7)); err != nil {
		t.Fatal(err)
	}
	headers := make(chan http.Header, 1)
	inner := (&httpfence.Middleware{Guard: guard}).Wrap(http.HandlerFunc(ok))
	url, client := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		headers <- r.Header
		inner.ServeHTTP(w, r)
	}))
	told := 0
	ctx := fence.WithObserver(t.Context(), func(*fence.StaleError) { told++ })
	resp, err := send(ctx, client, claim("year end", 5), url, "x")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	h := <-headers
	if h.Get("Fencing-Token") != "5" || h.Get("Fencing-Resource") != "year%20end" {
		t.Errorf("sent %v", h)
	}
	body, err := io.ReadAll(resp.Body) // the transport has looked at it
	want := (&fence.StaleError{Resource: "year end", Token: 5, Seen: 7}).Problem()
	if err != nil || resp.StatusCode != 412 || resp.Header.Get("Content-Type") != "application/problem+json" || string(body) != string(want) {
		t.Errorf("%d %s %s, %v", resp.StatusCode, resp.Header, body, err)
	}
	if told != 1 {
		t.Errorf("told %d times", told)
	}
}

// Only the sink's refusal of this very token counts; any other answer reaches the caller
// whole.
func TestOtherAnswersPass(t *testing.T) {
	t.Parallel()
	problem := string((&fence.StaleError{Resource: "r", Token: 6, Seen: 7}).Problem())
	tests := map[string]struct {
		status int
		media  string
		body   string
	}{
		"412 of its own":         {412, "text/plain", "If-Match failed"},
		"about another token":    {412, "application/problem+json", problem},
		"more than is looked at": {412, "text/plain", strings.Repeat("x", 100_000)},
		"success":                {200, "text/plain", "fine"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url, client := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", tt.media)
				w.WriteHeader(tt.status)
				_, _ = io.WriteString(w, tt.body)
			}))
			ctx := fence.WithObserver(t.Context(), func(e *fence.StaleError) { t.Errorf("told of %v", e) })
			resp, err := send(ctx, client, claim("r", 5), url, "x")
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			if stale := httpfence.StaleFrom(resp); stale != nil {
				t.Errorf("found %v", stale)
			}
			if body, err := io.ReadAll(resp.Body); string(body) != tt.body || err != nil {
				t.Errorf("%d bytes arrive, %v", len(body), err)
			}
		})
	}
}

func TestTransport(t *testing.T) {
	t.Parallel()
	url, client := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.Header.Get("Fencing-Token")+r.Header.Get("Fencing-Resource"))
	}))
	resp, err := send(t.Context(), client, nil, url, "x")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if body, _ := io.ReadAll(resp.Body); len(body) != 0 {
		t.Errorf("without a bearer %s is sent", body)
	}
	refused, err := send(t.Context(), client, claim("r", 0), url, "x")
	if err == nil {
		refused.Body.Close()
	}
	if !errors.Is(err, fence.ErrNoToken) {
		t.Errorf("a bearer without a token: %v", err)
	}
	// A round trip must leave the request as it was.
	req, err := http.NewRequestWithContext(httpfence.WithBearer(t.Context(), claim("r", 5)), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	again, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Body.Close()
	if len(req.Header) != 0 {
		t.Errorf("the caller's request has %v now", req.Header)
	}
}

func TestRefuse(t *testing.T) {
	t.Parallel()
	w := httptest.NewRecorder()
	if httpfence.Refuse(w, errors.New("another")) || httpfence.Refuse(w, nil) || w.Body.Len() > 0 {
		t.Errorf("refused without a reason: %s", w.Body)
	}
	stale := fmt.Errorf("saving: %w", &fence.StaleError{Resource: "r", Token: 5, Seen: 7})
	if !httpfence.Refuse(w, stale) || w.Code != 412 {
		t.Errorf("answered %d %s", w.Code, w.Body)
	}
}

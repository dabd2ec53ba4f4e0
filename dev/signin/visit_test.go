//go:build signin

package signin_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/oauth2-proxy/mockoidc"
)

var homeURL = &url.URL{Scheme: "https", Host: "cron.example.com", Path: "/"}

// An answer is what a request gets in the end.
type answer struct {
	request, protocol string
	status            int
	location          string // of a redirect that is not followed
	body              string
}

// wants fails the test unless the answer has the status and the text.
func (a answer) wants(t *testing.T, status int, text string) {
	t.Helper()
	if a.status != status || !strings.Contains(a.body, text) {
		t.Errorf("%s: status %d, want %d with %q in\n%.300s", a.request, a.status, status, text, a.body)
	}
}

// do sends a request with pairs of headers and their values; one without a value is not sent.
func (s *site) do(client *http.Client, method, address, body string, headers ...string) answer {
	s.t.Helper()
	request, err := http.NewRequestWithContext(s.t.Context(), method, address, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	for pair := range slices.Chunk(headers, 2) {
		if delete(request.Header, pair[0]); pair[1] != "" {
			request.Header[pair[0]] = []string{pair[1]} // also with an underscore in its name
		}
	}
	reply, err := client.Do(request)
	if err != nil {
		s.t.Fatal(err)
	}
	defer reply.Body.Close()
	text, err := io.ReadAll(reply.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return answer{method + " " + address, reply.Proto, reply.StatusCode, reply.Header.Get("Location"), string(text)}
}

// logIn opens the dashboard as a user with this e-mail address.
func (s *site) logIn(client *http.Client, email string) answer {
	s.t.Helper()
	s.provider.QueueUser(&mockoidc.MockUser{Subject: "id-of-" + email, Email: email, EmailVerified: true})
	return s.do(client, http.MethodGet, home+"/", "")
}

// submit sends a form as a browser does, with other headers besides.
func (s *site) submit(client *http.Client, path, reason string, headers ...string) answer {
	s.t.Helper()
	return s.do(client, http.MethodPost, home+path, url.Values{"reason": {reason}}.Encode(), append([]string{
		"Content-Type", "application/x-www-form-urlencoded", "Origin", home, "Sec-Fetch-Site", "same-origin",
	}, headers...)...)
}

// command pauses the job by the API.
func (s *site) command(client *http.Client, address, reason string, headers ...string) answer {
	s.t.Helper()
	body, _ := json.Marshal(map[string]string{"reason": reason}) // never fails
	return s.do(client, http.MethodPost, address+"/api/v1"+pausePath, string(body), append([]string{"Content-Type", "application/json"}, headers...)...)
}

// redirected returns where a request is redirected to; "" for nowhere.
func (s *site) redirected(client *http.Client, method, path string, headers ...string) string {
	s.t.Helper()
	direct := *client
	direct.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return s.do(&direct, method, home+path, "", headers...).location
}

// wantsLogin fails the test unless the proxy sends the client to the provider.
func (s *site) wantsLogin(client *http.Client, method, path string, headers ...string) {
	s.t.Helper()
	if to := s.redirected(client, method, path, headers...); !strings.HasPrefix(to, s.provider.Issuer()) {
		s.t.Errorf("%s %s redirects to %q, want the provider", method, path, to)
	}
}

// audited fails the test unless this is the latest command.
func (s *site) audited(by, reason, result string) {
	s.t.Helper()
	log := s.do(s.client(elsewhere), http.MethodGet, "http://"+s.quorate+"/api/v1/audit", "", "Authorization", "Bearer "+s.token)
	var rows struct {
		Items []struct{ By, Reason, Result string }
	}
	if err := json.Unmarshal([]byte(log.body), &rows); err != nil || len(rows.Items) == 0 {
		s.t.Fatalf("the audit log is %s: %v", log.body, err)
	}
	if got := rows.Items[0]; got.By != by || got.Reason != reason || !strings.HasPrefix(got.Result, result) || (result == "") != (got.Result == "") {
		s.t.Errorf("the latest command is %+v, want one by %s because of %q with the result %q", got, by, reason, result)
	}
}

// A stream is a stream of events through the proxy.
type stream struct {
	s     *site
	lines <-chan string
}

// events opens a stream, and waits until it has begun.
func (s *site) events(client *http.Client) *stream {
	s.t.Helper()
	ctx, end := context.WithCancel(s.t.Context())
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, home+"/api/v1/events", nil)
	if err != nil {
		s.t.Fatal(err)
	}
	unbounded := *client
	unbounded.Timeout = 0
	lines, done := make(chan string, 1000), make(chan struct{})
	s.t.Cleanup(func() { end(); <-done })
	go func() {
		defer close(done)
		defer close(lines)
		reply, err := unbounded.Do(request)
		if err != nil {
			return
		}
		defer reply.Body.Close()
		for scan := bufio.NewScanner(reply.Body); scan.Scan(); {
			lines <- scan.Text()
		}
	}()
	opened := &stream{s, lines}
	opened.next(": quorate")
	return opened
}

// atOnce is how soon an event must come on a busy machine; a replica looks for events every second or two.
const atOnce = 20 * time.Second

// next waits for a line.
func (e *stream) next(want string) {
	e.s.t.Helper()
	begun := time.Now()
	late := time.After(atOnce)
	for {
		select {
		case line, ok := <-e.lines:
			if !ok {
				e.s.t.Fatalf("the stream ended before %q", want)
			}
			if line == want {
				e.s.t.Logf("%q came after %v", want, time.Since(begun).Round(time.Millisecond))
				return
			}
		case <-late:
			e.s.t.Fatalf("no %q within %v", want, atOnce)
		}
	}
}

package cmd

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// answering is a server that answers each path that ends so with a text.
func answering(t *testing.T, answers map[string]string) (url string) {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for end, text := range answers {
			if strings.HasSuffix(r.URL.Path, end) {
				_, _ = io.WriteString(w, text)
				return
			}
		}
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, `{"code": "not_found", "detail": "not \u001b[31mhere"}`)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// A server that answers with nothing is no reason to panic.
func TestEmptyAnswers(t *testing.T) {
	t.Parallel()
	url := answering(t, map[string]string{
		"/trigger": `{"run": "a@1"}`, "/runs/a@1": `{"items": []}`, "/backfill": `{"job": "a", "asked": true, "ticks": null}`,
		"/cancel": `{}`, "/pause": `{}`, "/release": `{}`, "/jobs": `{}`, "/replicas": `{}`, "/nodes": `{}`, "/check": `{}`, "/locks": `{}`, "/audit": `{}`, "/next": `{}`, "/log": `{}`,
	})
	for _, tt := range []struct {
		args string
		code int
		says string
	}{
		{"trigger a --wait --reason x", exitFailed, "no run a@1"},
		{"backfill a --from 2026-01-01 --to 2026-01-02 --reason x", exitDone, "asked for 0 ticks"},
		{"backfill a --from 2026-01-01 --to 2026-01-02 --dry-run", exitDone, ""},
		{"cancel a --reason x", exitDone, ""},
		{"pause a --reason x", exitDone, ""},
		{"locks release a --reason xx", exitDone, ""},
		{"jobs", exitDone, ""},
		{"replicas", exitDone, ""},
		{"nodes", exitDone, ""},
		{"nodes check", exitDone, ""},
		{"locks", exitDone, ""},
		{"audit", exitDone, ""},
		{"logs a a@1", exitDone, ""},
	} {
		out, errs, code := quorate(t, append(strings.Fields(tt.args), "--server", url)...)
		if code != tt.code || !strings.Contains(out+errs, tt.says) {
			t.Errorf("%s: code %d, %q, %q", tt.args, code, out, errs)
		}
	}
}

// What a run has logged, and what a server says, cannot do anything to the terminal.
func TestServersTextIsHarmless(t *testing.T) {
	t.Parallel()
	url := answering(t, map[string]string{"/log": `{"text": "one\u001b]0;owned\u0007\n\ttwo\r\u202eeerht\n"}`})
	out, _, code := quorate(t, "logs", "a", "a@1", "--server", url)
	if want := "one\uFFFD]0;owned\uFFFD\n\ttwo\uFFFD\uFFFDeerht\n"; code != exitDone || out != want {
		t.Errorf("logs writes %q, want %q", out, want)
	}
	if out, _, _ := quorate(t, "logs", "a", "a@1", "--server", url, "-o", "json"); !strings.Contains(out, `\u001b]0;owned\u0007\n`) {
		t.Errorf("as JSON: %q", out)
	}
	if _, errs, code := quorate(t, "jobs", "--server", url); code != exitNotFound || !strings.Contains(errs, "not \uFFFD[31mhere") {
		t.Errorf("an error: %d %q", code, errs)
	}
}

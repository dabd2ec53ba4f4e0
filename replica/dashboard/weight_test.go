package dashboard_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/quorate/quorate/scheduler/ledger"
	"github.com/quorate/quorate/scheduler/roster"
)

// Text is sent compressed to those who take that, and is the same to all.
func TestTextIsCompressed(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, path := range []string{"/jobs/report", "/static/style.css", "/static/live.js", "/api/v1/openapi.json"} {
		a := r.ask(viewer, "GET", path, "", packed)
		if a.header.Get("Content-Encoding") != "gzip" || a.header.Get("Vary") == "" {
			t.Errorf("%s is sent as %v", path, a.header)
			continue
		}
		plain := r.ask(viewer, "GET", path, "")
		if text := unpacked(t, a); plain.header.Get("Content-Encoding") != "" || path != "/jobs/report" && !bytes.Equal(text, plain.body) || len(text) < len(a.body) {
			t.Errorf("%s: %d bytes, %d compressed", path, len(text), len(a.body))
		}
	}
}

func packed(r *http.Request) { r.Header.Set("Accept-Encoding", "gzip") }

func unpacked(t *testing.T, a answer) []byte {
	t.Helper()
	in, err := gzip.NewReader(bytes.NewReader(a.body))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(in)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// The overview of 14 jobs in trouble, and the files of all pages, are light.
func TestWeights(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	now := time.Now().Truncate(time.Second)
	var infos []roster.JobInfo
	for n := range 14 {
		name := fmt.Sprintf("job-%d-of-the-shop", n)
		infos = append(infos, roster.JobInfo{Name: name, Schedule: "@every 1m", Definition: `{"spec":"@every 1m"}`, ConfigHash: "c1"})
		for i := range 60 {
			e := ledger.Entry{Job: name, Tick: now.Add(-time.Duration(i) * time.Minute), Outcome: ledger.Skipped, Reason: ledger.TextReason("x")}
			if (i+n)%(n+2) == 0 {
				e.Outcome, e.Reason = ledger.Missed, ledger.Reason{Code: ledger.CodeAsleep}
			}
			r.record(e)
		}
	}
	r.must(r.roster.Publish(t.Context(), infos))
	scripts := []string{"/static/live.js", "/static/idiomorph.js", "/static/keys.js"}
	for most, paths := range map[int][]string{12 << 10: {"/?range=1h"}, 5 << 10: {"/static/style.css"}, 7 << 10: scripts} {
		sum := 0
		for _, path := range paths {
			a := r.ask(viewer, "GET", path, "", packed)
			if sum += len(a.body); a.status != http.StatusOK || bytes.Contains(unpacked(t, a), []byte("\n  ")) {
				t.Errorf("%s: %d, or it has indents", path, a.status)
			}
		}
		if sum > most {
			t.Errorf("%q: %d bytes of %d", paths, sum, most)
		}
	}
}

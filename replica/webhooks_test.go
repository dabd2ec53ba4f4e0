package replica

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quorate/quorate/dev/testkit/logtest"
	"github.com/quorate/quorate/dev/testkit/redistest"
	"github.com/quorate/quorate/internal/config"
	"github.com/quorate/quorate/internal/console/webhook"
	"github.com/quorate/quorate/internal/store/quorum/ledger"
	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/replica/settings"
	"github.com/quorate/quorate/scheduler"
	"github.com/quorate/quorate/scheduler/schedule"
)

// A failure reaches the endpoint of the configuration, and what the run logged
// the nodes; secrets reach neither.
func TestFailureIsToldAndItsLogKept(t *testing.T) {
	const secret = "canary-in-param"
	t.Setenv("QUORATE_TEST_PARAM", secret)
	t.Setenv("QUORATE_TEST_HOOK", "canary-in-hook")
	type post struct {
		webhook.Message
		auth, body string
	}
	posts := make(chan post, 100)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
		var body json.RawMessage
		p := post{auth: req.Header.Get("Authorization")}
		if err := errors.Join(json.NewDecoder(req.Body).Decode(&body), json.Unmarshal(body, &p.Message)); err != nil {
			t.Error(err)
		}
		p.body = string(body)
		posts <- p
	}))
	defer server.Close()

	registry := jobs.NewRegistry()
	jobs.Register(registry, "fail", func(_ context.Context, run jobs.Run, p struct{ Word string }) error {
		run.Logger.Info("about to fail", "word", p.Word, "hook", os.Getenv("QUORATE_TEST_HOOK"))
		return errors.New("cannot log in with " + p.Word)
	})
	source := config.Source{Path: write(t, fmt.Sprintf(`
redis: {nodes: [%s]}
jobs:
  fail: {func: fail, schedule: "@every 1s", params: {word: "${env:QUORATE_TEST_PARAM}"}}
webhooks:
  - {url: "%s/${env:QUORATE_TEST_HOOK}", events: [failed], jobs: [fail], headers: {Authorization: "Bearer ${env:QUORATE_TEST_HOOK}"}}
`, redistest.Start(t).URL(), server.URL))}
	cfg, err := config.Read(source, registry)
	if err != nil {
		t.Fatal(err)
	}
	set := openCluster(t, source)
	declareNew(t, set)
	var out logtest.Buffer
	r, err := newReplica(cfg, registry, Config{Replica: settings.Replica{ID: "a"}, Logger: logTo(&out)})
	if err != nil {
		t.Fatal(err)
	}
	stop := start(t.Context(), r)
	got := <-posts
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	if got.Event != webhook.Failed || got.Job != "fail" || got.Namespace != "quorate" || *got.Error != "cannot log in with ***" {
		t.Errorf("told %s", got.body)
	}
	if got.auth != "Bearer canary-in-hook" || strings.Contains(got.body, "canary") || strings.Contains(out.String(), "canary") {
		t.Errorf("secrets: header %q, message %s, log\n%s", got.auth, got.body, &out)
	}
	tick, err := time.Parse(time.RFC3339, got.Tick)
	if err != nil {
		t.Fatal(err)
	}
	log, err := ledger.New(set).Log(t.Context(), "fail", tick, *got.Token)
	if err != nil || !strings.Contains(log.Text, `msg="about to fail" word=***`) || strings.Contains(log.Text, "canary") {
		t.Errorf("the nodes keep %q, %v", log.Text, err)
	}
}

// A reference that nothing resolves is named before any tick, with its place; the other webhook
// gets its messages.
func TestUnresolvedReferencesAreNamedAtTheStart(t *testing.T) {
	t.Parallel()
	posts := make(chan string, 100)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) { posts <- req.URL.Path }))
	defer server.Close()
	registry := jobs.NewRegistry()
	jobs.Register(registry, "fail", func(context.Context, jobs.Run, struct{ Word string }) error { return nil })
	source := config.Source{Path: write(t, fmt.Sprintf(`
redis: {nodes: [%s]}
jobs:
  fail: {func: fail, schedule: "@every 1s", params: {word: "${env:QUORATE_TEST_MISSING}"}}
webhooks:
  - {url: "%s/${env:QUORATE_TEST_MISSING}", events: [failed]}
  - {url: "%[2]s/good", events: [failed]}
`, redistest.Start(t).URL(), server.URL))}
	cfg, err := config.Read(source, registry)
	if err != nil {
		t.Fatal(err)
	}
	declareNew(t, openCluster(t, source))
	var out logtest.Buffer
	r, err := newReplica(cfg, registry, Config{Replica: settings.Replica{ID: "a"}, Logger: logTo(&out)})
	if err != nil {
		t.Fatal(err)
	}
	for _, place := range []string{":4:60: jobs.fail.params.word: ", ":6:11: webhooks[0].url: "} {
		if !strings.Contains(out.String(), source.Path+place+"warning: ${env:QUORATE_TEST_MISSING}: the environment variable is not set") {
			t.Errorf("no %s in\n%s", place, &out)
		}
	}
	stop := start(t.Context(), r)
	if got := <-posts; got != "/good" {
		t.Errorf("posted to %s", got)
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}
}

// Webhooks choose by the tags of all jobs that are served: those of the file,
// also after it was read again, and those of a source.
func TestTagsOfAllJobs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		schedule, err := schedule.Parse("@every 1s", schedule.Options{})
		if err != nil {
			t.Fatal(err)
		}
		r, stop := newReloading(t, "jobs:\n  a: {func: count, schedule: \"@every 1s\", tags: [x]}\n", func(_ *reloading, o *Config) {
			o.Source = scheduler.SourceFunc(func(context.Context) ([]jobs.Job, error) {
				return []jobs.Job{{
					Name: "customer", Schedule: schedule, Tags: []string{"y"},
					Handler: func(context.Context, jobs.Run) error { return nil },
				}}, nil
			})
		})
		defer stop()
		tags := func(want string) {
			t.Helper()
			if got := fmt.Sprint(r.tags.tagsOf("a"), r.tags.tagsOf("customer"), r.tags.tagsOf("nosuch")); got != want {
				t.Errorf("tags of a, customer and nosuch: %s, want %s", got, want)
			}
		}
		time.Sleep(500 * time.Millisecond)
		tags("[x] [y] []")
		r.jobs("jobs:\n  a: {func: count, schedule: \"@every 1s\", tags: [x, z]}\n")
		time.Sleep(6 * time.Second)
		tags("[x z] [y] []")
	})
}

package interop

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/quorate/quorate/internal/console/webhook"
	"github.com/quorate/quorate/replica/settings"
	"github.com/quorate/quorate/scheduler/event"
	"github.com/quorate/quorate/scheduler/ledger"
)

// docs/webhooks.md:
// verified calls handle with each message whose signature fits the secret.
func verified(secret *standardwebhooks.Webhook, handle func(id string, message []byte)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
		if err == nil {
			err = secret.Verify(body, r.Header)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusUnauthorized)
			return
		}
		handle(r.Header.Get("webhook-id"), body)
	}
}

// :docs/webhooks.md

func secretOf(letter string) string {
	return "whsec_" + base64.StdEncoding.EncodeToString([]byte(strings.Repeat(letter, 32)))
}

// The library of Standard Webhooks accepts our messages with the new and with the old secret, and no
// others.
func TestStandardWebhooks(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]webhook.Stats{"new": {Sent: 1}, "old": {Sent: 1}, "other": {Lost: 1}} {
		secret, err := standardwebhooks.NewWebhook(secretOf(name[:2]))
		if err != nil {
			t.Fatal(err)
		}
		var id string
		var body []byte
		receive := verified(secret, func(of string, message []byte) { id, body = of, message })
		server := httptest.NewServer(receive)
		var headers http.Header
		client := &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			headers = r.Header.Clone()
			return http.DefaultTransport.RoundTrip(r)
		})}
		got := post(t, webhook.Config{Webhook: settings.Webhook{
			URL: settings.Secret(server.URL), Events: []string{webhook.Failed}, Secret: settings.Secret(secretOf("ne") + " " + secretOf("ol")),
		}, Client: client})
		server.Close()
		if got != want {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
		if want.Sent == 0 {
			continue
		}
		var m webhook.Message
		if err := json.Unmarshal(body, &m); err != nil || m.ID != id || m.Job != "report" {
			t.Errorf("%s: message %s with id %s: %v", name, body, id, err)
		}
		forged := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader(strings.Replace(string(body), "report", "backup", 1)))
		forged.Header = headers
		answer := httptest.NewRecorder()
		if receive(answer, forged); answer.Code != http.StatusUnauthorized {
			t.Errorf("%s: another message with that signature is answered by %d", name, answer.Code)
		}
	}
	page, err := os.ReadFile("../../docs/webhooks.md")
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile("webhook_test.go")
	if err != nil {
		t.Fatal(err)
	}
	_, code, _ := strings.Cut(string(source), "\n// docs/webhooks.md:\n")
	code, _, marked := strings.Cut(code, "\n\n// :docs/webhooks.md\n")
	if !marked || !strings.Contains(string(page), "```go\n"+code+"\n```") {
		t.Errorf("docs/webhooks.md does not hold\n%s", code)
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// post posts one message as a drain does, once, and returns the outcome.
func post(t *testing.T, cfg webhook.Config) webhook.Stats {
	t.Helper()
	sink := webhook.New(cfg)
	sink.Observe(event.Event{Kind: event.Finished, Entry: ledger.Entry{Job: "report", Tick: time.Now(), Attempt: 1, Outcome: ledger.Failed}})
	drained, cancel := context.WithCancel(t.Context())
	cancel()
	sink.Run(drained)
	return sink.Stats()
}

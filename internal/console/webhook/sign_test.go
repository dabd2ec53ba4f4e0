package webhook

import (
	"encoding/base64"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quorate/quorate/replica/settings"
	"github.com/quorate/quorate/scheduler/event"
	"github.com/quorate/quorate/scheduler/ledger"
)

// secretOf is a secret whose key has so many bytes.
func secretOf(bytes int) string {
	return "whsec_" + base64.StdEncoding.EncodeToString([]byte(strings.Repeat(string(rune(bytes)), bytes)))
}

// The libraries of Standard Webhooks have this example among their tests.
func TestSignature(t *testing.T) {
	t.Parallel()
	keys, err := keysOf("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
	if err != nil {
		t.Fatal(err)
	}
	got := signatures(keys, "msg_p5jXN8AQM9LWM0D4loKWxJek", "1614265330", []byte(`{"test": 2432232314}`))
	if want := "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// Each try is signed at its own time, with the secrets as they are then; the id stays.
func TestMessagesAreSigned(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		secrets := []string{secretOf(24), secretOf(64) + "\n" + secretOf(24)} // the file, before and after a rotation
		var times []int64
		e := &endpoint{answer: func(n int) (int, error) {
			times = append(times, time.Now().Unix())
			return []int{http.StatusServiceUnavailable, http.StatusOK}[n], nil
		}}
		resolve := func(text string) (string, error) {
			return strings.ReplaceAll(text, "${file:key}", secrets[min(len(times), 1)]), nil
		}
		s, stop := running(t, e, Config{Webhook: settings.Webhook{Secret: "${file:key}"}, Resolve: resolve, Backoff: 4 * time.Second})
		s.Observe(event.Event{Kind: event.Finished, Entry: entry(ledger.Failed)})
		time.Sleep(10 * time.Second)
		stop()
		if len(e.got) != 2 || times[0] == times[1] {
			t.Fatalf("tries at %d", times)
		}
		for i, id := range e.ids(t) {
			keys, err := keysOf(secrets[i])
			if err != nil {
				t.Fatal(err)
			}
			stamp := strconv.FormatInt(times[i], 10)
			want := []string{"report@20261121T120000~000Z~2~failed", id, stamp, signatures(keys, id, stamp, []byte(e.bodies[i]))}
			h := e.got[i].Header
			if got := []string{id, h.Get("webhook-id"), h.Get("webhook-timestamp"), h.Get("webhook-signature")}; strings.Join(got, "\n") != strings.Join(want, "\n") {
				t.Errorf("try %d: got %q, want %q", i, got, want)
			}
		}
	})
	synctest.Test(t, func(t *testing.T) {
		e := &endpoint{}
		s, stop := running(t, e, Config{})
		s.Observe(event.Event{Kind: event.Finished, Entry: entry(ledger.Failed)})
		synctest.Wait()
		stop()
		h := e.got[0].Header
		if h.Get("webhook-id") == "" || h.Get("webhook-timestamp") == "" || len(h.Values("webhook-signature")) > 0 {
			t.Errorf("without a secret: %v", h)
		}
	})
}

// What is no secret is refused with the way to one, and is not shown.
func TestSecretsAreChecked(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		secretOf(24): "",
		secretOf(64): "",
		" " + secretOf(32) + "\r\n\n" + secretOf(32) + " ": "",

		"":                              "is empty, so messages would not be signed",
		" \n":                           "is empty",
		"s3cret":                        "does not begin with whsec_; write what this prints: echo whsec_$(openssl rand -base64 32)",
		secretOf(32)[len("whsec_"):]:    "does not begin with whsec_",
		"whsec_s3cret!":                 "has no base64 after whsec_",
		secretOf(23):                    "has a key of 23 bytes, not of 24 to 64",
		secretOf(65):                    "has a key of 65 bytes, not of 24 to 64",
		"whsec_":                        "has a key of 0 bytes",
		secretOf(32) + " s3cret":        "secret 2 of 2 does not begin with whsec_",
		secretOf(8) + " " + secretOf(9): "secret 1 of 2 has a key of 8 bytes",
	} {
		got := ""
		if err := CheckSecret(text); err != nil {
			got = err.Error()
		}
		if !strings.HasPrefix(got, want) || want == "" && got != "" || strings.Contains(got, "s3cret") || strings.Contains(got, secretOf(8)[len("whsec_"):]) {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quorate/quorate/scheduler"
	"github.com/quorate/quorate/scheduler/ledger"
)

// Every try is signed anew, with a secret that is resolved for it; without a secret
// there is no signature.
func TestMessagesAreSigned(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := &endpoint{answer: func(n int) (int, error) { return []int{http.StatusServiceUnavailable, http.StatusOK}[n], nil }}
		resolve := func(text string) (string, error) { return strings.ReplaceAll(text, "${env:KEY}", "k-e-y"), nil }
		s, stop := running(t, e, Config{Secret: "the ${env:KEY}", Resolve: resolve, Backoff: 4 * time.Second})
		begun := time.Now()
		s.Observe(scheduler.Event{Kind: scheduler.EventFinished, Entry: entry(ledger.Failed)})
		time.Sleep(10 * time.Second)
		stop()
		if len(e.got) != 2 {
			t.Fatalf("%d tries", len(e.got))
		}
		headers := []string{e.got[0].Header.Get("Quorate-Signature"), e.got[1].Header.Get("Quorate-Signature")}
		mac := hmac.New(sha256.New, []byte("the k-e-y"))
		fmt.Fprintf(mac, "%d.%s", begun.Unix(), e.bodies[0])
		if want := fmt.Sprintf("t=%d,v1=%s", begun.Unix(), hex.EncodeToString(mac.Sum(nil))); headers[0] != want {
			t.Errorf("signed %q, want %q", headers[0], want)
		}
		if headers[1] == headers[0] {
			t.Error("the second try has the signature of the first")
		}
		for i, header := range headers {
			if err := Verify("the k-e-y", header, []byte(e.bodies[i]), begun, time.Minute); err != nil {
				t.Errorf("try %d: %v", i, err)
			}
		}
	})
	synctest.Test(t, func(t *testing.T) {
		e := &endpoint{}
		s, stop := running(t, e, Config{})
		s.Observe(scheduler.Event{Kind: scheduler.EventFinished, Entry: entry(ledger.Failed)})
		synctest.Wait()
		stop()
		if got := e.got[0].Header.Values("Quorate-Signature"); len(got) > 0 {
			t.Errorf("without a secret: %q", got)
		}
	})
}

// Verify takes what was signed, and nothing else.
func TestVerify(t *testing.T) {
	t.Parallel()
	body := []byte(`{"version":1}`)
	good := sign("secret", body, noon)
	for _, tt := range []struct {
		name, secret, header, body string
		at                         time.Time
		want                       bool
	}{
		{"as it was sent", "secret", good, string(body), noon.Add(time.Minute), true},
		{"a newer version beside", "secret", good + ",v2=00", string(body), noon, true},
		{"another secret", "other", good, string(body), noon, false},
		{"another body", "secret", good, string(body) + " ", noon, false},
		{"another time", "secret", strings.Replace(good, "t=1", "t=2", 1), string(body), noon, false},
		{"old", "secret", good, string(body), noon.Add(time.Hour), false},
		{"from the future", "secret", good, string(body), noon.Add(-time.Hour), false},
		{"no signature", "secret", "", string(body), noon, false},
		{"no secret", "", sign("", body, noon), string(body), noon, false},
	} {
		err := Verify(tt.secret, tt.header, []byte(tt.body), tt.at, 5*time.Minute)
		if (err == nil) != tt.want || err != nil && !errors.Is(err, ErrSignature) {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

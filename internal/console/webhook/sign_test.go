package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quorate/quorate/replica/settings"
	"github.com/quorate/quorate/scheduler/event"
	"github.com/quorate/quorate/scheduler/ledger"
)

// Every try is signed anew, with a secret that is resolved for it; without a secret
// there is no signature.
func TestMessagesAreSigned(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := &endpoint{answer: func(n int) (int, error) { return []int{http.StatusServiceUnavailable, http.StatusOK}[n], nil }}
		resolve := func(text string) (string, error) { return strings.ReplaceAll(text, "${env:KEY}", "k-e-y"), nil }
		s, stop := running(t, e, Config{Webhook: settings.Webhook{Secret: "the ${env:KEY}"}, Resolve: resolve, Backoff: 4 * time.Second})
		begun := time.Now()
		s.Observe(event.Event{Kind: event.Finished, Entry: entry(ledger.Failed)})
		time.Sleep(10 * time.Second)
		stop()
		if len(e.got) != 2 {
			t.Fatalf("%d tries", len(e.got))
		}
		var stamps [2]int64
		for i, r := range e.got {
			header := r.Header.Get("Quorate-Signature")
			if _, err := fmt.Sscanf(header, "t=%d,", &stamps[i]); err != nil {
				t.Fatalf("try %d: %q: %v", i, header, err)
			}
			mac := hmac.New(sha256.New, []byte("the k-e-y"))
			fmt.Fprintf(mac, "%d.%s", stamps[i], e.bodies[i])
			if want := fmt.Sprintf("t=%d,v1=%s", stamps[i], hex.EncodeToString(mac.Sum(nil))); header != want {
				t.Errorf("try %d: signed %q, want %q", i, header, want)
			}
		}
		if stamps[0] != begun.Unix() || stamps[1] <= stamps[0] {
			t.Errorf("signed at %d, from %d on", stamps, begun.Unix())
		}
	})
	synctest.Test(t, func(t *testing.T) {
		e := &endpoint{}
		s, stop := running(t, e, Config{})
		s.Observe(event.Event{Kind: event.Finished, Entry: entry(ledger.Failed)})
		synctest.Wait()
		stop()
		if got := e.got[0].Header.Values("Quorate-Signature"); len(got) > 0 {
			t.Errorf("without a secret: %q", got)
		}
	})
}

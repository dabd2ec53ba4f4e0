package etcdtest_test

import (
	"context"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/quorate/quorate/stores/etcd/internal/etcdtest"
)

// A leader that is cut off is reached by its side URL, and serves nothing until it is healed.
func TestLeaderIsCutOff(t *testing.T) {
	t.Parallel()
	c := etcdtest.StartDivisible(t, 3)
	old := c.Leader(t)
	get := func(url string) error {
		client, err := clientv3.New(clientv3.Config{Endpoints: []string{url}, Logger: zap.NewNop()})
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		_, err = client.Get(ctx, "x")
		return err
	}
	m := c.Members[old]
	m.Cut(t, false)
	for until := time.Now().Add(time.Minute); c.Leader(t) == old; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(until) {
			t.Fatal("the member that was cut off leads")
		}
	}
	for _, url := range []string{m.URL, m.SideURL} {
		if get(url) == nil {
			t.Errorf("%s answers; side %s, leader %d was %d", url, m.SideURL, c.Leader(t), old)
		}
	}
	for until := time.Now().Add(time.Minute); ; { // a busy machine may answer late
		err := get(c.Members[(old+1)%3].URL)
		if err == nil {
			break
		}
		if time.Now().After(until) {
			t.Fatalf("another member: %v", err)
		}
	}
	m.Heal(t)
	for _, url := range []string{m.URL, m.SideURL} {
		for until := time.Now().Add(time.Minute); get(url) != nil; {
			if time.Now().After(until) {
				t.Fatalf("%s does not answer", url)
			}
		}
	}
}

package redlock

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/quorate/quorate/dev/testkit/redistest"
	"github.com/quorate/quorate/locking"
)

// A program passes the client that it has of one Redis, however that finds its server.
func TestOpenOnClientsThatFindTheirServer(t *testing.T) {
	t.Parallel()
	master := redistest.Start(t)
	redistest.StartReplicas(t, master, 1)
	var watchers, servers []string
	for _, s := range redistest.StartSentinels(t, master.Addr(), 1) {
		watchers = append(watchers, s.Addr())
	}
	for _, s := range redistest.StartCluster(t, 1) {
		servers = append(servers, s.Addr())
	}
	for name, client := range map[string]redis.UniversalClient{
		"sentinel": redis.NewFailoverClient(&redis.FailoverOptions{MasterName: redistest.MasterName, SentinelAddrs: watchers}),
		"cluster":  redis.NewClusterClient(&redis.ClusterOptions{Addrs: servers}),
	} {
		t.Cleanup(func() { _ = client.Close() })
		l, err := Open(t.Context(), Config{Clients: []redis.UniversalClient{client}, New: true, Copies: 1, Timeout: time.Second})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		lease, err := locking.Acquire(t.Context(), l, locking.Request{Name: "job"}, locking.Retry{})
		if err == nil {
			err = lease.Release(t.Context(), nil)
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := l.Close(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

package redistest

import (
	"context"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// MasterName is the name of the master that Sentinels of StartSentinels watch.
const MasterName = "orders"

// StartReplicas starts replicas of the server, and returns once they follow it.
func StartReplicas(t testing.TB, master *Server, n int, opts ...Option) []*Server {
	t.Helper()
	must(t, master.Client().ConfigSet(t.Context(), "repl-diskless-sync-delay", "0"))
	list := StartN(t, n, append(opts, Conf("repl-diskless-sync-delay 0", "replicaof 127.0.0.1 "+master.Port()))...)
	AwaitReplicas(t, master, n)
	return list
}

// AwaitReplicas waits until so many replicas follow the server. One that INFO calls online may
// still load its snapshot, so a write of no key must reach all of them.
func AwaitReplicas(t testing.TB, master *Server, n int) {
	t.Helper()
	c := master.Client()
	Await(t, "the replicas to follow their master", func(ctx context.Context) bool {
		if strings.Count(c.Info(ctx, "replication").Val(), "state=online") != n {
			return false
		}
		pipe := c.Pipeline()
		pipe.FunctionFlush(ctx)
		have := pipe.Do(ctx, "wait", n, 1000)
		_, err := pipe.Exec(ctx)
		followed, _ := have.Int()
		return err == nil && followed == n
	})
}

// StartSentinels starts Sentinels that watch the master under MasterName, and returns once
// they know its replicas and each other. A master counts as silent after longer than a busy one
// takes to answer.
func StartSentinels(t testing.TB, addr string, replicas int, opts ...Option) []*Server {
	t.Helper()
	host, port, _ := strings.Cut(addr, ":")
	list := StartN(t, 3, append(opts, Sentinel(), Conf(
		"sentinel monitor "+MasterName+" "+host+" "+port+" 2",
		"sentinel down-after-milliseconds "+MasterName+" 1500",
		"sentinel failover-timeout "+MasterName+" 2000",
	))...)
	for _, s := range list {
		c := redis.NewSentinelClient(s.Client().Options())
		t.Cleanup(func() { _ = c.Close() })
		Await(t, "the Sentinels to know each other", func(ctx context.Context) bool {
			known := c.Master(ctx, MasterName).Val()
			return known["num-slaves"] == strconv.Itoa(replicas) && known["num-other-sentinels"] == "2"
		})
	}
	return list
}

// StartCluster starts a Redis Cluster of three masters with so many replicas each, and
// returns once all of them serve. Masters come first, then the replicas of the first.
func StartCluster(t testing.TB, replicas int, opts ...Option) []*Server {
	t.Helper()
	const masters, slots = 3, 16384
	list := StartN(t, masters*(1+replicas), append(opts, Conf("cluster-enabled yes", "cluster-node-timeout 1000", "repl-diskless-sync-delay 0"))...)
	for i, s := range list {
		c := s.Client()
		must(t, c.ClusterMeet(t.Context(), "127.0.0.1", list[0].Port()))
		if i < masters {
			must(t, c.ClusterAddSlotsRange(t.Context(), i*slots/masters, (i+1)*slots/masters-1))
		}
	}
	for i := masters; i < len(list); i++ {
		of, c := list[(i-masters)/max(replicas, 1)].Client().ClusterMyID(t.Context()).Val(), list[i].Client()
		Await(t, "a server to know its master", func(ctx context.Context) bool {
			return c.ClusterReplicate(ctx, of).Err() == nil
		})
	}
	for _, s := range list {
		c := s.Client()
		Await(t, "the cluster to serve", func(ctx context.Context) bool {
			return strings.Contains(c.ClusterInfo(ctx).Val(), "cluster_state:ok") &&
				strings.Count(c.ClusterNodes(ctx).Val(), "slave ") == masters*replicas
		})
	}
	for _, s := range list[:masters] {
		AwaitReplicas(t, s, replicas)
	}
	return list
}

// MoveSlot moves the slot of a key, with all its keys, from its master to another one of a Redis
// Cluster without replicas, as `redis-cli --cluster reshard` does.
func MoveSlot(t testing.TB, list []*Server, key string) (from, to *Server) {
	t.Helper()
	ctx := t.Context()
	slot := list[0].Client().ClusterKeySlot(ctx, key).Val()
	for _, s := range list {
		if s.Client().Exists(ctx, key).Err() == nil { // others answer MOVED
			from = s
		} else {
			to = s
		}
	}
	source, target := from.Client(), to.Client()
	sourceID, targetID := source.ClusterMyID(ctx).Val(), target.ClusterMyID(ctx).Val()
	must(t, target.Do(ctx, "cluster", "setslot", slot, "importing", sourceID))
	must(t, source.Do(ctx, "cluster", "setslot", slot, "migrating", targetID))
	for {
		keys := source.ClusterGetKeysInSlot(ctx, int(slot), 100).Val()
		if len(keys) == 0 {
			break
		}
		move := []any{"migrate", "127.0.0.1", to.Port(), "", 0, 5000, "keys"}
		for _, k := range keys {
			move = append(move, k)
		}
		must(t, source.Do(ctx, move...))
	}
	for _, c := range []*redis.Client{target, source} {
		must(t, c.Do(ctx, "cluster", "setslot", slot, "node", targetID))
	}
	return from, to
}

func must(t testing.TB, cmd redis.Cmder) {
	t.Helper()
	if err := cmd.Err(); err != nil {
		t.Fatalf("%v: %v", cmd.Args(), err)
	}
}

// Await waits until it is so. Servers that other processes start are waited for in real
// time, for minutes at most.
func Await(t testing.TB, what string, so func(ctx context.Context) bool) {
	t.Helper()
	for deadline := time.Now().Add(3 * time.Minute); !so(t.Context()); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("still waiting for %s", what)
		}
	}
}

package replica

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"github.com/quorate/quorate/dev/testkit/logtest"
	"github.com/quorate/quorate/dev/testkit/redistest"
	"github.com/quorate/quorate/internal/config"
	quorumledger "github.com/quorate/quorate/internal/store/quorum/ledger"
	"github.com/quorate/quorate/internal/store/quorum/membership"
	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/replica/settings"
	"github.com/quorate/quorate/scheduler/ledger"
)

// Secrets that the whole-cluster test plants, one per place to write one.
const (
	urlSecret   = "canary-in-url"
	envSecret   = "canary-in-env"
	fileSecret  = "canary-in-file"
	paramSecret = "canary-in-param"
)

// A sink keeps what the runs of a job tell it.
type sink struct {
	mu   sync.Mutex
	runs []jobs.Run
	some chan struct{} // gets one per run
}

func (s *sink) add(run jobs.Run) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.runs = append(s.runs, run)
	s.some <- struct{}{}
}

// secretNodes starts five servers with the least privileged user, each reached
// with a secret from another place, and returns the configuration.
func secretNodes(t *testing.T) ([]*redistest.Server, string) {
	t.Helper()
	t.Setenv("QUORATE_TEST_PASSWORD", envSecret)
	t.Setenv("QUORATE_TEST_PARAM", paramSecret)
	secrets := []string{urlSecret, envSecret, fileSecret, fileSecret, fileSecret}
	servers := make([]*redistest.Server, 5)
	for i := range servers {
		servers[i] = redistest.Start(t, redistest.ACL("quorate", secrets[i], membership.ACLRules("quorate")))
	}
	return servers, fmt.Sprintf(`
redis:
  nodes:
    - redis://quorate:%s@%s
    - redis://quorate:${env:QUORATE_TEST_PASSWORD}@%s
    - redis://%s
    - {name: d, url: redis://%s}
    - redis://%s
  username: quorate
  password: ${file:%s}
http: {probes_listen: "127.0.0.1:0"}
log: {level: debug}
jobs:
  tell: {func: tell, schedule: "@every 1s"}
  fail: {func: fail, schedule: "@every 1s", params: {word: "${env:QUORATE_TEST_PARAM}"}}
`, urlSecret, servers[0].Addr(), servers[1].Addr(), servers[2].Addr(), servers[3].Addr(), servers[4].Addr(), write(t, fileSecret+"\n"))
}

func TestThreeReplicasOnFiveNodes(t *testing.T) {
	servers, text := secretNodes(t)
	others := goleak.IgnoreCurrent()
	told := &sink{some: make(chan struct{}, 10000)}
	registry := jobs.NewRegistry()
	jobs.Register(registry, "tell", func(_ context.Context, run jobs.Run, _ jobs.NoParams) error {
		told.add(run)
		return nil
	})
	jobs.Register(registry, "fail", func(_ context.Context, run jobs.Run, p struct{ Word string }) error {
		run.Logger.Info("about to fail", "word", p.Word)
		return errors.New("cannot log in with " + p.Word)
	})
	source := config.Source{Path: write(t, text)}
	cfg, err := config.Read(source, registry)
	if err != nil {
		t.Fatal(err)
	}
	set := openCluster(t, source)
	declareNew(t, set)

	var out logtest.Buffer
	var stops []func() error
	var replicas []*Replica
	for _, id := range []string{"a", "b", "c"} {
		r, err := newReplica(cfg, registry, Config{Replica: settings.Replica{ID: id}, Logger: config.NewLogger(cfg.Log, &out), Version: "test"})
		if err != nil {
			t.Fatal(err)
		}
		replicas = append(replicas, r)
		stops = append(stops, start(t.Context(), r))
	}
	for range 4 {
		<-told.some
	}
	var served []string
	for _, r := range replicas {
		_, body := get(t, "http://"+r.ProbesAddr().String()+"/metrics")
		served = append(served, body)
		status, body := get(t, "http://"+r.ProbesAddr().String()+"/readyz")
		if status != 200 {
			t.Errorf("/readyz of %s: %d %s", r.ID(), status, body)
		}
	}
	store := quorumledger.New(set)
	living, err := store.Replicas(t.Context())
	if err != nil || len(living) != 3 {
		t.Errorf("roster: %v, %v", living, err)
	}
	for _, stop := range stops {
		if err := stop(); err != nil {
			t.Error(err)
		}
	}
	goleak.VerifyNone(t, others)
	checkRuns(t, told.runs, store)
	failed, err := store.Runs(t.Context(), ledger.Query{Job: "fail", Limit: 100})
	if err != nil || len(failed) == 0 || !strings.Contains(failed[0].Error, "cannot log in with ***") {
		t.Errorf("ledger of the failing job: %+v, %v", failed, err)
	}
	texts := append(append(stored(t, servers), served...), out.String(), fmt.Sprintf("%+v %+v", living, failed))
	for _, st := range set.Inspect(t.Context()) {
		texts = append(texts, fmt.Sprintf("%+v", st))
	}
	noSecretIn(t, texts)
	if err := set.Close(); err != nil {
		t.Error(err)
	}
}

// openCluster opens the nodes as a listing does.
func openCluster(t *testing.T, source config.Source) *membership.Set {
	t.Helper()
	cluster, err := config.ReadCluster(source)
	if err != nil {
		t.Fatal(err)
	}
	set, err := membership.Open(cluster.Redis)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// declareNew declares the nodes new. On a busy machine one of them may need a second try.
func declareNew(t *testing.T, set *membership.Set) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; {
		err := set.Init(t.Context(), false)
		if err == nil {
			return
		}
		if !errors.Is(err, locking.ErrNoQuorum) || time.Now().After(end) {
			t.Fatal(err)
		}
	}
}

// checkRuns compares what ran with the promises and with the ledger.
func checkRuns(t *testing.T, runs []jobs.Run, store ledger.Store) {
	t.Helper()
	inLedger := map[time.Time]ledger.Entry{}
	entries, err := store.Runs(t.Context(), ledger.Query{Job: "tell", Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		inLedger[e.Tick.UTC()] = e
	}
	if len(entries) != len(runs) {
		t.Errorf("%d runs and %d in the ledger", len(runs), len(entries))
	}
	var last locking.Token
	seen := map[time.Time]bool{}
	for _, run := range runs {
		e := inLedger[run.Tick.UTC()]
		if seen[run.Tick.UTC()] || run.Token <= last {
			t.Errorf("tick %v with token %d after %d: run before: %t", run.Tick, run.Token, last, seen[run.Tick.UTC()])
		}
		if e.Token != run.Token || e.Replica != run.Replica || e.Outcome != ledger.Succeeded {
			t.Errorf("the ledger has %+v for %+v", e, run)
		}
		seen[run.Tick.UTC()], last = true, run.Token
	}
	ticks := slices.SortedFunc(maps.Keys(seen), time.Time.Compare)
	if span := ticks[len(ticks)-1].Sub(ticks[0]); span != time.Duration(len(ticks)-1)*time.Second {
		t.Errorf("%d ticks ran within %v: some are missing", len(ticks), span)
	}
}

// stored returns every key and value of the servers.
func stored(t *testing.T, servers []*redistest.Server) []string {
	t.Helper()
	var texts []string
	for _, s := range servers {
		client := s.Client()
		keys, err := client.Keys(t.Context(), "*").Result()
		if err != nil || len(keys) < 4 {
			t.Fatalf("keys of %s: %q, %v", s.Addr(), keys, err)
		}
		for _, key := range keys {
			texts = append(texts, key, value(t, client, key))
		}
	}
	return texts
}

func value(t *testing.T, client *redis.Client, key string) string {
	t.Helper()
	kind, err := client.Type(t.Context(), key).Result()
	if err != nil {
		t.Fatal(err)
	}
	var v any
	switch kind {
	case "string":
		v, err = client.Get(t.Context(), key).Result()
	case "hash":
		v, err = client.HGetAll(t.Context(), key).Result()
	case "zset":
		v, err = client.ZRange(t.Context(), key, 0, -1).Result()
	default:
		t.Fatalf("%s is a %s: teach this test to read it", key, kind)
	}
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(v)
}

func noSecretIn(t *testing.T, texts []string) {
	t.Helper()
	for _, text := range texts {
		for _, secret := range []string{urlSecret, envSecret, fileSecret, paramSecret} {
			if i := strings.Index(text, secret); i >= 0 {
				t.Errorf("a secret came out: …%s…", text[max(0, i-200):min(len(text), i+100)])
			}
		}
	}
	if len(texts) < 40 {
		t.Errorf("only %d texts were searched", len(texts))
	}
}

func TestWrongPasswordsAreNotShown(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.ACL("quorate", "right", "~* +@all"))
	registry, _ := countTicks(t)
	var out logtest.Buffer
	cfg := everySecond([]string{"redis://quorate:" + urlSecret + "@" + server.Addr()})
	r, err := newReplica(cfg, registry, Config{Logger: logTo(&out)})
	if err != nil {
		t.Fatal(err)
	}
	err = r.Run(t.Context())
	if err == nil || !strings.Contains(err.Error(), "WRONGPASS") {
		t.Fatalf("a wrong password ends a start with %v", err)
	}
	for _, text := range append(r.NotReady(), out.String(), err.Error()) {
		if strings.Contains(text, urlSecret) {
			t.Errorf("the password came out: %s", text)
		}
	}
}

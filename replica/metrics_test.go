package replica

import (
	"bufio"
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/quorate/quorate/dev/testkit/redistest"
	"github.com/quorate/quorate/internal/config"
	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/replica/settings"
	"github.com/quorate/quorate/scheduler/metrics"
)

// scrape returns the samples that the replica serves, by name{labels}.
func scrape(t *testing.T, r *Replica) map[string]float64 {
	t.Helper()
	status, body := get(t, "http://"+r.ProbesAddr().String()+"/metrics")
	if status != 200 {
		t.Fatalf("/metrics: %d %s", status, body)
	}
	samples := map[string]float64{}
	lines := bufio.NewScanner(strings.NewReader(body))
	for lines.Scan() {
		name, value, ok := strings.Cut(lines.Text(), " ")
		if n, err := strconv.ParseFloat(value, 64); ok && err == nil {
			samples[name] = n
		}
	}
	return samples
}

// A cluster of three replicas on five nodes tells what it does, and that a node
// has died, without a question to the nodes.
func TestMetricsOfACluster(t *testing.T) {
	t.Parallel()
	servers := redistest.StartN(t, 5)
	ran := make(chan struct{}, 1000)
	registry := jobs.NewRegistry()
	jobs.Register(registry, "tell", func(context.Context, jobs.Run, jobs.NoParams) error {
		ran <- struct{}{}
		return nil
	})
	source := config.Source{Path: write(t, fmt.Sprintf("redis: {nodes: [%s]}\nhttp: {probes_listen: \"127.0.0.1:0\"}\njobs:\n  tell: {func: tell, schedule: \"@every 1s\"}\n",
		strings.Join(redistest.URLs(servers), ", "))), Environ: []string{}}
	cfg, err := config.Read(source, registry)
	if err != nil {
		t.Fatal(err)
	}
	set := openCluster(t, source)
	declareNew(t, set)
	if err := set.Close(); err != nil {
		t.Error(err)
	}
	var replicas []*Replica
	for _, id := range []string{"a", "b", "c"} {
		r, err := newReplica(cfg, registry, Config{Replica: settings.Replica{ID: id}, Logger: logTo(t.Output()), Version: "1.2.3", Metrics: new(metrics.Metrics)})
		if err != nil {
			t.Fatal(err)
		}
		replicas = append(replicas, r)
		stop := start(t.Context(), r)
		t.Cleanup(func() {
			if err := stop(); err != nil {
				t.Error(err)
			}
		})
	}
	sum := func(name string) (total float64) {
		t.Helper()
		for _, r := range replicas {
			total += scrape(t, r)[name]
		}
		return total
	}
	for range 3 {
		<-ran
	}
	for sum(`quorate_quorum_margin`) != 6 { // a busy machine may be late with the first answers
		<-ran
	}
	for name, want := range map[string]float64{
		`quorate_nodes`: 15, "quorate_replica_ready": 3, "quorate_jobs": 3,
		`quorate_ticks_total{job_name="tell",outcome="missed"}`: 0,
	} {
		if got := sum(name); got != want {
			t.Errorf("%s is %v in all, want %v", name, got, want)
		}
	}
	for _, name := range []string{`quorate_ticks_total{job_name="tell",outcome="succeeded"}`, `quorate_claims_total{result="won"}`, "quorate_start_delay_seconds_count"} {
		if got := sum(name); got < 2 { // the last may not have ended
			t.Errorf("%s is %v in all, want at least 2", name, got)
		}
	}
	victim := set.Nodes()[0].Name()
	servers[0].Kill()
	for sum(`quorate_quorum_margin`) != 3 {
		<-ran // nothing else stops
	}
	if up := sum(fmt.Sprintf(`quorate_node_up{node=%q}`, victim)); up != 0 {
		t.Errorf("%v replicas take the dead node for up", up)
	}
}

// A configuration that asks for the dashboard is refused by a program that lacks it.
func TestNoDashboard(t *testing.T) {
	t.Parallel()
	file := write(t, "redis: {nodes: [redis://127.0.0.1:1]}\nhttp:\n  listen: 127.0.0.1:0\n")
	_, err := Load(file, jobs.NewRegistry())
	want := file + ":3:11: http.listen: this program has no dashboard; pass new(dashboard.Server) of package replica/dashboard"
	if err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
}

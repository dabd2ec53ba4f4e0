package commands

import (
	"context"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/quorate/quorate/dev/testkit/redistest"
	"github.com/quorate/quorate/internal/store/quorum/membership"
	"github.com/quorate/quorate/scheduler/commands"
	"github.com/quorate/quorate/scheduler/schedtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// smallMost bounds the open requests in these tests, so they reach it.
const smallMost = 30

// smallPauses bounds the pauses in these tests.
const smallPauses = 20

// connect declares the nodes as new and opens the commands they keep. For as long as
// the test it looks after nodes that are down or blank.
func connect(tb testing.TB, on redistest.Cluster, mend ...func(*membership.Config)) *Commands {
	tb.Helper()
	cfg := membership.Config{
		Namespace: on.Namespace, Dial: on.Dial, Embedded: on.Dial != nil,
		Timeout: 3 * time.Second, TTL: 30 * time.Second, Grace: time.Minute,
	}
	for _, u := range on.URLs {
		cfg.Nodes = append(cfg.Nodes, membership.NodeConfig{URL: u})
	}
	for _, m := range mend {
		m(&cfg)
	}
	set, err := membership.Open(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	if err := set.Init(tb.Context(), false); err != nil {
		tb.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = set.Run(ctx) })
	tb.Cleanup(func() {
		cancel()
		running.Wait()
		_ = set.Close()
	})
	a := New(set)
	a.most, a.pauses = smallMost, smallPauses
	return a
}

func TestCommandsConform(t *testing.T) {
	t.Parallel()
	redistest.OnEvery(t, membership.ACLRules("quorate*"), func(t *testing.T, f redistest.Fleet) {
		schedtest.RunCommands(t, schedtest.CommandsBackend{
			Hooks: schedtest.Hooks{Bubble: f.Bubble},
			New: func(tb testing.TB) commands.Store {
				tb.Helper()
				return connect(tb, f.New(tb))
			},
			MaxOpen: smallMost, MaxPauses: smallPauses, Nodes: f.Nodes,
		})
	})
}

func trigger(id string) commands.Command {
	return commands.Command{ID: id, Kind: commands.Trigger, Job: "job", By: "ann", Reason: "try it"}
}

func pause(id string) commands.Command {
	return commands.Command{ID: id, Kind: commands.Pause, Job: "job", By: "ann", Reason: "broken"}
}

func (a *Commands) mustDo(tb testing.TB, command commands.Command) commands.Command {
	tb.Helper()
	command, err := a.Do(tb.Context(), command)
	if err != nil {
		tb.Fatalf("Do(%s) = %v", command.ID, err)
	}
	return command
}

func (a *Commands) mustOpen(tb testing.TB) commands.Open {
	tb.Helper()
	all, err := a.Open(tb.Context())
	if err != nil {
		tb.Fatalf("Open = %v", err)
	}
	return all
}

// wantOpen wants these requests to be open, oldest first.
func (a *Commands) wantOpen(tb testing.TB, when string, ids ...string) {
	tb.Helper()
	got := a.mustOpen(tb).Requests
	ok := len(got) == len(ids)
	for i := range min(len(got), len(ids)) {
		ok = ok && got[i].ID == ids[i]
	}
	if !ok {
		tb.Errorf("%s are open %+v, want %q", when, got, ids)
	}
}

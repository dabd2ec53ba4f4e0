package cmd

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/quorate/quorate/dev/testkit/campaigntest"
	"github.com/quorate/quorate/dev/testkit/checker"
	"github.com/quorate/quorate/dev/testkit/redistest"
	"github.com/quorate/quorate/internal/console/view"
)

// upgradeFrom names the binary of another release, which .ci/upgrade builds.
const upgradeFrom = "QUORATE_UPGRADE_FROM"

// TestRollingUpgrade replaces the replicas of a cluster one by one by those of
// another release, while they run ticks side by side: old by new, and new by
// old, as when an upgrade is taken back. Each tick runs once, tokens grow, and
// both releases read the same ledger.
//
// Without another binary (.ci/upgrade gives it one) it replaces this release by
// itself. That shows that the test works, and nothing about upgrades.
func TestRollingUpgrade(t *testing.T) {
	t.Parallel()
	current := release{name: "new", binary: os.Args[0]}
	other := release{name: "old", binary: os.Getenv(upgradeFrom)}
	if other.binary == "" {
		t.Log("no other release to compare with: this release is replaced by itself; see .ci/upgrade")
		other.binary = current.binary
	}
	t.Run("upgrade", func(t *testing.T) { t.Parallel(); replaceAll(t, other, current) })
	t.Run("downgrade", func(t *testing.T) { t.Parallel(); replaceAll(t, current, other) })
}

// A release is a binary that knows `run` and `ticks`.
type release struct{ name, binary string }

// replaceAll starts three replicas of one release and replaces them by another.
func replaceAll(t *testing.T, first, second release) {
	t.Helper()
	c := onRedis(t, redistest.StartN(t, 3), writesLines)
	initNew(t, c.Config) // the other release may not know it
	moreLines := func(what string) {
		t.Helper()
		before := len(c.Effects())
		c.Eventually("ticks run "+what, func() bool { return len(c.Effects()) >= before+2 })
	}
	start := func(r release, i int) *campaigntest.Replica {
		t.Helper()
		p := campaigntest.StartBinary(t, r.binary, c.Config, fmt.Sprintf("%s-%d", r.name, i))
		c.Add(p)
		return p
	}

	var olds []*campaigntest.Replica
	for i := range 3 {
		olds = append(olds, start(first, i))
	}
	c.Ready()
	moreLines("before anything is replaced")
	for i, leaving := range olds {
		start(second, i).Ready()
		moreLines("side by side")
		leaving.Drain()
		delete(c.Replicas, leaving.ID)
	}
	moreLines("after everything was replaced")
	c.Drain()

	lines := c.Effects()
	c.CheckOnce()
	by := map[string]int{}
	for _, l := range lines {
		name, _, _ := strings.Cut(l.Replica, "-")
		by[name]++
	}
	if by[first.name] == 0 || by[second.name] == 0 {
		t.Errorf("ticks per release: %v", by)
	}
	for _, reader := range []release{first, second} {
		reader.checkLedger(t, patient(t, c.Config), lines)
	}
	c.Due("tick", time.Second, lines[0].At.Add(-time.Nanosecond), lines[len(lines)-1].At)
	c.CheckTruth()
	t.Logf("%d ticks, per release %v", len(lines), by)
}

// call runs a command of the release, which must succeed.
func (r release) call(t *testing.T, args ...string) []byte {
	t.Helper()
	stdout, err := campaigntest.Program(t.Context(), r.binary, args...).Output()
	if err != nil {
		var stderr []byte
		if exit, ok := err.(*exec.ExitError); ok { //nolint:errorlint // Output returns it as it is
			stderr = exit.Stderr
		}
		t.Fatalf("%s release, %v: %v: %s", r.name, args, err, stderr)
	}
	return stdout
}

// checkLedger wants the release to list every tick that ran, as succeeded, by
// whom and with which token.
func (r release) checkLedger(t *testing.T, config string, lines []checker.Effect) {
	t.Helper()
	ran := map[string]checker.Effect{}
	for _, l := range lines {
		ran[*view.Stamp(l.At)] = l
	}
	var rows []struct {
		Tick, Outcome, Replica string
		Token                  uint64
	}
	if err := json.Unmarshal(r.call(t, "ticks", "tick", "-c", config, "-o", "json", "--limit", "1000"), &rows); err != nil {
		t.Fatal(err)
	}
	listed := 0
	for _, row := range rows {
		l, ok := ran[row.Tick]
		if !ok {
			continue
		}
		listed++
		if row.Outcome != "succeeded" || row.Token != l.Token || row.Replica != l.Replica {
			t.Errorf("the %s release lists %+v, and %v ran", r.name, row, l)
		}
	}
	if listed != len(ran) {
		t.Errorf("the %s release lists %d of the %d ticks that ran", r.name, listed, len(ran))
	}
}

// TestStoredFormats pins the data that a claim leaves on a node, with its version numbers:
// releases that differ here must understand each other. Names, numbers and times that vary
// are masked.
func TestStoredFormats(t *testing.T) {
	t.Parallel()
	servers := redistest.StartN(t, 1)
	config := writeConfig(t, servers, `
jobs:
  tick:
    func: exec
    schedule: "@every 1s"
    params: {command: ["true"]}
`)
	initNew(t, config)
	p := campaigntest.Start(t, config, "a")
	p.AwaitLog(`"run ended".*"succeeded"`)
	p.Drain()

	client := redis.NewClient(&redis.Options{Addr: servers[0].Addr()})
	defer func() { _ = client.Close() }()
	node, err := client.HGetAll(t.Context(), "{campaign}:node").Result()
	if err != nil {
		t.Fatal(err)
	}
	claim, err := client.MGet(t.Context(), "{campaign}:job:tick:fence", "{campaign}:job:tick:claim.schedule").Result()
	if err != nil {
		t.Fatal(err)
	}
	records, err := client.ZRange(t.Context(), "{campaign}:job:tick:runs", 0, -1).Result()
	if err != nil {
		t.Fatal(err)
	}
	records = slices.DeleteFunc(records, func(r string) bool { return !strings.Contains(r, "succeeded") })
	if len(records) == 0 {
		t.Fatal("no record of the run that succeeded")
	}
	wantStored(t, "node", fmt.Sprint(node), `map[embedded:0 member:127.0.0.1:* * 0 4000 2 names:127.0.0.1:* repl_id:* run_id:* served:1 since:0]`)
	stored, _, _ := strings.Cut(fmt.Sprint(claim), "|")
	wantStored(t, "claim", stored, `[* - - schedule O* * * 0 * 0 schedule a`)
	wantStored(t, "record", records[0], `Fschedule|{"v":1,"t":*,"k":*,"a":*,"o":"*","n":{"v":2,"tries":*,"trigger":"schedule","replica":"a","outcome":"succeeded","started":*,"finished":*,"votes":{"For":1,"Of":1},"hash":"*","poll":{"n":"+","r":*,"l":*}}}`)
}

func wantStored(t *testing.T, what, got, want string) {
	t.Helper()
	pattern := strings.ReplaceAll(regexp.QuoteMeta(want), `\*`, `[0-9A-Za-z]+`)
	if !regexp.MustCompile("^" + pattern + "$").MatchString(got) {
		t.Errorf("%s is stored as\n%s\nwant\n%s\nIf the difference is meant, raise the version, and let the release before read it or say which one it needs", what, got, want)
	}
}

package cmd

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/quorate/quorate/cmd/internal/failure"
	"github.com/quorate/quorate/dev/testkit/redistest"
	"github.com/quorate/quorate/internal/config"
	"github.com/quorate/quorate/internal/store/quorum"
	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/scheduler/roster"
)

// The params of both flags make one object, in which numbers keep all their
// digits.
func TestReadParams(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		object string
		pairs  []string
		want   string
	}{
		{"", nil, ""},
		{`{"id": 1}`, nil, `{"id": 1}`},
		{`{"id": 12345678901234567, "of": "a"}`, []string{"of=b", "n=2"}, `{"id":12345678901234567,"n":2,"of":"b"}`},
		{"", []string{"a=1", "b=true", "c=text", "d=", `e={"f":[1]}`, "g=h=i"}, `{"a":1,"b":true,"c":"text","d":"","e":{"f":[1]},"g":"h=i"}`},
		{`{"a": "<"}`, []string{"b=<c>&"}, `{"a":"<","b":"<c>&"}`}, // which HTML escapes would make six times as long
	} {
		got, err := readParams(tt.object, tt.pairs)
		if err != nil || string(got) != tt.want {
			t.Errorf("readParams(%q, %q) = %s, %v; want %s", tt.object, tt.pairs, got, err, tt.want)
		}
	}
	for _, bad := range []struct {
		object string
		pairs  []string
	}{{"[]", nil}, {"null", nil}, {"{", nil}, {"", []string{"a"}}, {"", []string{"=1"}}} {
		if _, err := readParams(bad.object, bad.pairs); !failure.IsUsage(err) {
			t.Errorf("readParams(%q, %q) = %v, want a usage error", bad.object, bad.pairs, err)
		}
	}
}

// TestTriggerRefusesParamsThatDoNotFit: the binary with the function names the wrong param,
// and requests nothing. Another binary does so by the published params; without them it
// leaves the check to the replicas.
func TestTriggerRefusesParamsThatDoNotFit(t *testing.T) {
	t.Parallel()
	servers := redistest.StartN(t, 1)
	config := writeConfig(t, servers, "jobs:\n  greet: {func: greet, schedule: \"@daily\", params: {name: all}}\n"+
		"  date: {func: exec, schedule: \"@daily\", params: {command: [date]}}\n")
	registry := builtins()
	type greeting struct {
		Name  string `json:"name"`
		Times int    `json:"times"`
	}
	jobs.Register(registry, "greet", func(context.Context, jobs.Run, greeting) error { return nil })
	if _, stderr, code := quorate(t, "store", "init", "-c", config); code != exitDone {
		t.Fatal(stderr)
	}
	publish(t, config, registry)
	for _, tc := range []struct {
		registry *jobs.Registry
		args     string
		code     int
		says     string
	}{
		{registry, "greet --param nmae=ann", exitUsage, `params: nmae: unknown key: did you mean "name"?`},
		{registry, "greet --param times=often", exitUsage, "params: times: "},
		{registry, "date --param x=1", exitUsage, "params: exec takes its params from the configuration only"},
		{builtins(), "date --param x=1", exitUsage, "params: exec takes its params from the configuration only"},
		{registry, "greet --param times=3", exitDone, "requested run"},
		{builtins(), "greet --param nmae=ann", exitUsage, `params: nmae: unknown key: did you mean "name"?`},
		{builtins(), "greet --param times=often", exitUsage, "params: times: is a string: want a whole number"},
		{builtins(), "greet --param times=3", exitDone, "requested run"},
		{builtins(), "old --param times=often", exitDone, "requested run"},
	} {
		var out bytes.Buffer
		app := App{Registry: tc.registry, In: strings.NewReader(""), Out: &out, Err: &out}
		code := app.Exec(t.Context(), append(append([]string{"trigger"}, strings.Fields(tc.args)...), "-c", config))
		if code != tc.code || !strings.Contains(out.String(), tc.says) {
			t.Errorf("trigger %s: exit code %d, %s, want %d and %s", tc.args, code, &out, tc.code, tc.says)
		}
	}
	// The published params count if the local configuration lacks the job.
	if _, stderr, code := quorate(t, "trigger", "date", "--param", "x=1", "-c", writeConfig(t, servers, "")); code != exitUsage {
		t.Errorf("a job that only the nodes know: exit code %d, %s", code, stderr)
	}
}

// publish makes the jobs of a configuration known on the nodes.
func publish(t *testing.T, file string, registry *jobs.Registry) {
	t.Helper()
	read, err := config.ReadCluster(config.Source{Path: file, Environ: []string{}})
	if err != nil {
		t.Fatal(err)
	}
	c, err := quorum.Open(read.Redis, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	c.Set.LearnEpoch(t.Context())
	for _, j := range []roster.JobInfo{
		{Name: "greet", Hash: "1", Func: "greet", Params: registry.Shape("greet"), Replica: "a"},
		{Name: "date", Hash: "2", Func: "exec", Replica: "a"},
		{Name: "old", Hash: "3", Func: "old", Replica: "a"},
	} {
		if err := c.Ledger.Publish(t.Context(), []roster.JobInfo{j}); err != nil {
			t.Fatal(err)
		}
	}
}

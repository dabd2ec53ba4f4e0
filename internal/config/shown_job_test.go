package config

import (
	"encoding/json"
	"testing"
)

// A job shows what it has in effect, its zone and its calendars included, and leaves
// out what is off.
func TestShownJob(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{func: exec, schedule: "@daily", params: {command: [a], verbose: false, none: null}}`:            `{"params":{"command":["a"],"none":null,"verbose":false},` + usual + `"timezone":"Europe/Paris"}`,
		`{func: exec, schedule: "@daily", timezone: UTC, history: {max_bytes: 0}, jitter: 1m, tags: [x]}`: `{"jitter":"1m","tags":["x"],` + quiet + `"timezone":"UTC"}`,
		`{func: exec, schedule: "@daily", exclude: [holidays]}`:                                           `{"calendars":{"holidays":{"dates":["2026-12-25"]}},"exclude":["holidays"],` + usual + `"timezone":"Europe/Paris"}`,
	} {
		cfg, err := Read(Source{Path: write(t, "redis: {nodes: [redis://127.0.0.1:1]}\nscheduler: {timezone: Europe/Paris}\ncalendars: {holidays: {dates: [2026-12-25]}}\njobs:\n  a: "+text+"\n"), Environ: []string{}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		list, err := cfg.JobList(nil)
		if err != nil {
			t.Fatal(err)
		}
		got, err := json.Marshal(list[0].Settings())
		if err != nil {
			t.Fatal(err)
		}
		if !sameJSON(t, got, []byte(want)) {
			t.Errorf("%s shows\n%s, want\n%s", text, got, want)
		}
	}
}

// What every job has in effect.
const (
	common = `"func":"exec","schedule":"@daily","dst":{"gap":"run_after","overlap":"first"},"timeout":"1h","overlap":"skip",` +
		`"catch_up":{"mode":"none","window":"1h","max":100},"on_crash":"skip","retry":{"attempts":1,"backoff":"1s","max_backoff":"1m"},`
	usual = common + `"history":{"keep":1000,"max_bytes":262144},`
	quiet = common + `"history":{"keep":1000,"max_bytes":0},`
)

func sameJSON(t *testing.T, a, b []byte) bool {
	t.Helper()
	var x, y any
	if err := json.Unmarshal(a, &x); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &y); err != nil {
		t.Fatal(err)
	}
	left, _ := json.Marshal(x)
	right, _ := json.Marshal(y)
	return string(left) == string(right)
}

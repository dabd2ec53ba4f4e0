package config

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/quorate/quorate/internal/decode"
)

// canary is within what the variable of the walk holds.
const canary = "c4n4ry"

// oddValues are refused by most settings, each by another parser. Each has the canary at its beginning or
// end, so it shows that a part was quoted.
var oddValues = []string{
	canary, canary + " odd", "15" + canary, "5m" + canary, canary + "; a=b", `"` + canary + `\`, "%zz" + canary, "[" + canary, "{" + canary + ": 1",
	"postgres://u:" + canary + "@h:port/x", "postgres://" + canary + "@" + canary + "@h/", canary + "=x host=", "redis://u:" + canary + "@h:1:2", "http://h:" + canary, "\x01" + canary + "\x7f",
	"0 0 " + canary + " * *", "CRON_TZ=" + canary + " @daily", "@every " + canary, "Europe/" + canary, "2027-01-01T" + canary, "/nowhere/" + canary + "\n" + canary,
	"9" + strings.Repeat("9", 30) + canary, "(" + canary, canary + ":pw", "- " + canary, "'" + canary, canary + "\u00e9", strings.Repeat(canary, 100),
}

// keysOf lists the paths to all settings of a type, with the text around a value for them: YAML in
// flow style.
func keysOf(t reflect.Type, before, after string, found func(path, before, after string), path string) {
	switch {
	case t == reflect.TypeFor[JobConfig](): // what a job cannot be without
		before, after = before+`{func: report, schedule: "@daily", `, "}"+after
	case t.Kind() == reflect.Struct && len(decode.Fields(t)) > 0:
		before, after = before+"{", "}"+after
	case t.Kind() == reflect.Map:
		keysOf(t.Elem(), before+"{a: ", "}"+after, found, path+".a")
		return
	case t.Kind() == reflect.Slice:
		keysOf(t.Elem(), before+"[", "]"+after, found, path+"[]")
		found(path, before, after)
		return
	default:
		found(path, before, after)
		return
	}
	found(path, before[:strings.LastIndexAny(before, "{")], after[1:]) // a text in place of it
	for _, f := range decode.Fields(t) {
		keysOf(f.Type, before+f.Name+": ", after, found, path+"."+f.Name)
	}
}

// No mistake, warning or error of any setting shows what a reference stands for: it names the reference,
// and its place.
func TestNoMessageShowsWhatAReferenceStandsFor(t *testing.T) {
	keys, refused := 0, 0
	keysOf(reflect.TypeFor[Config](), "", "", func(key, before, after string) {
		if key == "" || key == ".http.users_file" { // names of files are shown
			return
		}
		keys++
		for n, odd := range oddValues {
			t.Setenv("QUORATE_TEST_CANARY", odd)
			texts := []string{`"${env:QUORATE_TEST_CANARY}"`, `"5${env:QUORATE_TEST_CANARY}"`, `"redis://u:${env:QUORATE_TEST_CANARY}@h"`}
			if n > 1 {
				texts = texts[:1]
			}
			for _, text := range texts {
				file := write(t, fmt.Sprintf("%s%s%s\n", before, text, after))
				if !strings.HasPrefix(key, ".jobs") && !strings.HasPrefix(key, ".postgres") && !strings.HasPrefix(key, ".etcd") && !strings.HasPrefix(key, ".zookeeper") && !strings.HasPrefix(key, ".redis") {
					file = write(t, fmt.Sprintf("{redis: {nodes: [redis://h]}, %s%s%s\n", strings.TrimPrefix(before, "{"), text, after))
				}
				var said []string
				source := Source{Path: file, Environ: []string{}}
				cfg, err := Read(source, newRegistry(t))
				said = append(said, fmt.Sprint(err))
				if err == nil {
					said = append(said, fmt.Sprint(cfg.Warnings()))
					_, err = cfg.Cluster()
					said = append(said, fmt.Sprint(err))
					_, err = cfg.JobList(newRegistry(t))
					said = append(said, fmt.Sprint(err))
					_, err = cfg.Users()
					said = append(said, fmt.Sprint(err))
				} else {
					refused++
				}
				_, err = ReadCluster(source)
				said = append(said, fmt.Sprint(err))
				if all := strings.Join(said, "\n"); strings.Contains(strings.ToLower(all), canary) {
					t.Errorf("%s: %s with %.40q: %s", key, text, odd, all)
				}
			}
		}
	}, "")
	if keys < 100 || refused < 500 {
		t.Errorf("%d settings were tried, %d values refused", keys, refused)
	}
}

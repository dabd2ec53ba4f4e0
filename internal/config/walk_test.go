package config

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/quorate/quorate/internal/decode"
	"github.com/quorate/quorate/jobs"
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
				if section, _, _ := strings.Cut(key[1:], "."); section != "jobs" && Default().storeOf(section).section == "" {
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

// Every tag range can be read, and says the same of its bounds as of what lies between them.
func TestRanges(t *testing.T) {
	t.Parallel()
	ranges := 0
	var walk func(t *testing.T, at string, in reflect.Type)
	walk = func(t *testing.T, at string, in reflect.Type) {
		for in.Kind() == reflect.Pointer || in.Kind() == reflect.Slice || in.Kind() == reflect.Map {
			in = in.Elem()
		}
		if in.Kind() != reflect.Struct {
			return
		}
		for _, f := range decode.Fields(in) {
			of := f.Type
			if of.Kind() == reflect.Pointer {
				of = of.Elem()
			}
			for part := range strings.SplitSeq(f.Tag.Get("range"), "|") {
				for bound := range strings.SplitSeq(part, "..") {
					_, err := time.ParseDuration(bound)
					if of != reflect.TypeFor[time.Duration]() {
						_, err = strconv.Atoi(bound)
					}
					if bound != "" && err != nil {
						t.Errorf("%s.%s: range %s: %v", at, f.Name, part, err)
					}
				}
			}
			if f.Tag.Get("range") != "" {
				ranges++
			}
			walk(t, at+"."+f.Name, f.Type)
		}
	}
	walk(t, "", reflect.TypeFor[Config]())
	keep, _ := reflect.TypeFor[HistoryConfig]().FieldByName("Keep")
	if want := fmt.Sprintf("1..%d", jobs.MaxKeep); keep.Tag.Get("range") != want || !strings.HasSuffix(keep.Tag.Get("wrong"), strings.Replace(want, "..", " to ", 1)) {
		t.Errorf("history.keep has the tags %s, want %s", keep.Tag, want)
	}
	if ranges < 15 {
		t.Errorf("only %d ranges are tagged", ranges)
	}
	for allowed, want := range map[string]string{"0..": "0 1 4 1000", "1..1000": "1 4 1000", "0|2..9": "0 4"} {
		var in []string
		for _, n := range []int{-1, 0, 1, 4, 1000} {
			if inRange(reflect.ValueOf(n), allowed) {
				in = append(in, strconv.Itoa(n))
			}
		}
		if got := strings.Join(in, " "); got != want {
			t.Errorf("%s allows %s, want %s", allowed, got, want)
		}
	}
	for text, want := range map[string]bool{"0s": false, "1ms": true, "1500us": false, "1h": true, "-1s": false} {
		d, _ := time.ParseDuration(text)
		if got := inRange(reflect.ValueOf(d), "1ms.."); got != want {
			t.Errorf("1ms.. allows %s: %v", text, got)
		}
	}
}

package crontab_test

import (
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/quorate/quorate/internal/config"
	"github.com/quorate/quorate/internal/config/crontab"
	"github.com/quorate/quorate/internal/refs"
	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/jobs/execjob"
	"github.com/quorate/quorate/replica/settings"
)

// imported converts text and reads the result as `quorate validate` does. The jobs come
// back in the order of the names.
func imported(t *testing.T, text string, opts crontab.Options) (*config.Config, []jobs.Job, crontab.Result) {
	t.Helper()
	result, err := crontab.Import(text, opts)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(file, result.YAML, 0o600); err != nil {
		t.Fatal(err)
	}
	registry := jobs.NewRegistry()
	execjob.Register(registry)
	cfg, err := config.Read(config.Source{Path: file, Environ: []string{}}, registry)
	if err != nil {
		t.Fatalf("%v\n%s", err, result.YAML)
	}
	list, err := cfg.JobList(registry)
	if err != nil {
		t.Fatal(err)
	}
	return cfg, list, result
}

// ticksOf are those of a year in the zone.
func ticksOf(job jobs.Job, year int, zone *time.Location) (all []time.Time) {
	end := time.Date(year+1, 1, 1, 0, 0, 0, 0, zone)
	for at := job.Schedule.Next(time.Date(year, 1, 1, 0, 0, 0, 0, zone).Add(-1)); at.Before(end); at = job.Schedule.Next(at) {
		all = append(all, at)
	}
	return all
}

func zoneOf(t *testing.T, name string) *time.Location {
	t.Helper()
	zone, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return zone
}

// lines are those with a schedule that has ticks.
func lines(text string) (all []string) {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && strings.ContainsAny(line[:1], "0123456789*@") && !strings.HasPrefix(line, "@reboot") {
			all = append(all, line)
		}
	}
	return all
}

// checkTicks wants every line to tick for a year as cron would run it, also when clocks
// change.
func checkTicks(t *testing.T, text string, opts crontab.Options, minutes []cronMinute) int {
	t.Helper()
	zone := zoneOf(t, opts.Timezone)
	found := lines(text)
	for _, line := range found {
		_, list, _ := imported(t, line+"\n", opts)
		want := readCronLine(t, line).ticks(minutes)
		if got := ticksOf(list[0], minutes[0].at.In(zone).Year(), zone); !slices.Equal(got, want) {
			t.Errorf("%s: %d ticks, cron has %d; the first that differ: %v", line, len(got), len(want), firstDifference(got, want))
		}
	}
	return len(found)
}

func firstDifference(got, want []time.Time) (both [2][]time.Time) {
	i := 0
	for i < min(len(got), len(want)) && got[i].Equal(want[i]) {
		i++
	}
	return [2][]time.Time{got[i:min(i+2, len(got))], want[i:min(i+2, len(want))]}
}

// debianCrontabs returns the files of the packages that testdata/debian/README.md lists, with
// their versions and places. The folder must have no others.
func debianCrontabs(t *testing.T) (listed []string) {
	t.Helper()
	text, err := os.ReadFile("testdata/debian/README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range regexp.MustCompile(`(?m)^\| (\S+) \| \S+ \| /etc/cron\.d/\S+ \| [^|]+ \|$`).FindAllStringSubmatch(string(text), -1) {
		listed = append(listed, "testdata/debian/"+row[1]+".cron")
	}
	files, err := filepath.Glob("testdata/debian/*.cron")
	slices.Sort(listed)
	if err != nil || !slices.Equal(files, listed) || len(files) < 30 {
		t.Fatalf("%v; the files are %q, and %q are listed with their packages", err, files, listed)
	}
	return listed
}

// TestDebianCrontabs imports crontabs of Debian packages.
func TestDebianCrontabs(t *testing.T) {
	t.Parallel()
	files := debianCrontabs(t)
	minutes := cronMinutes(2027, zoneOf(t, "Europe/Paris"))
	checked := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		opts := crontab.Options{File: file, System: true, Timezone: "Europe/Paris"}
		if _, list, _ := imported(t, string(text), opts); len(list) != len(lines(string(text))) {
			t.Errorf("%s: %d jobs of %d lines", file, len(list), len(lines(string(text))))
		}
		checked += checkTicks(t, string(text), opts, minutes)
	}
	if checked < 50 {
		t.Errorf("only %d lines were compared", checked)
	}
}

// TestTicksAreCrons has what the packages lack: both day fields, steps, and hours that the
// change of the clocks concerns.
func TestTicksAreCrons(t *testing.T) {
	t.Parallel()
	minutes := cronMinutes(2027, zoneOf(t, "America/New_York"))
	checkTicks(t, `
0 0 13 * fri x
0 12 1,15 * 1-5 x
0 0 */2 * * x
0 0 * * */2 x
0 0 */1 * 1 x
0 0 1-31 * 1 x
0 0 * * 7 x
0 0 * * 5-7 x
0 0 1-7 * 0-7 x
15 10 * 2,4-6 * x
0 9-17/2 * * mon-FRI x
30 2 * * * x
30 1 * * * x
*/10 2 * * * x
* 1 * * * x
0 */2 * * * x
0 */3 * * 0 x
7 * * * * x
*/7 0-23 * * * x
0 1,2,3 * * * x
@hourly x
@daily x
@midnight x
@weekly x
@monthly x
@yearly x
@annually x
*/100 * * * * x
30 */30 * * * x
0 0 */40 * * x
0 0 1,* * 1 x
0 0 *,1 * 1 x
0 0 1 * */1,5 x
0 0 1 * 5,* x
0 0 * */13 7-7 x
10-20/30 5-6/9 * * 1-7/3 x
*/20 0-11,12-23 * * * x
`, crontab.Options{Timezone: "America/New_York"}, minutes)
}

func TestConverted(t *testing.T) {
	t.Parallel()
	cfg, _, result := imported(t, `# head

# Nightly report.
# It takes an hour.
0 2 * * *	/usr/bin/report --all
SHELL=/bin/bash
PATH = "/opt/bin:/usr/bin"
CRON_TZ=Asia/Tokyo
# lost
HOME=/srv
MY-VAR = a "b" # c
"MAILTO" = ''

*/5 2 * * * ( mail -s "at \%H" root )%Dear all,%%100\% done%
0 3 * * * /usr/bin/report
# foot
`, crontab.Options{File: "tab", Timezone: "UTC"})
	report, mail := cfg.Jobs["report"], cfg.Jobs["mail"]
	if report.Description != "Nightly report.\nIt takes an hour." || cfg.Jobs["report-2"].Description != "" {
		t.Errorf("descriptions %q and %q", report.Description, cfg.Jobs["report-2"].Description)
	}
	for _, kept := range []string{"# head", "# lost", "# foot"} {
		if !strings.Contains(string(result.YAML), kept) {
			t.Errorf("the comment %q is lost:\n%s", kept, result.YAML)
		}
	}
	if got := report.Params["command"]; !slices.Equal(texts(got), []string{"/bin/sh", "-c", "/usr/bin/report --all"}) || !maps.Equal(envOf(report), map[string]any{"SHELL": "/bin/sh"}) {
		t.Errorf("report runs %q with env %v", got, report.Params["env"])
	}
	want := map[string]any{"SHELL": "/bin/bash", "PATH": "/opt/bin:/usr/bin", "HOME": "/srv", "CRON_TZ": "Asia/Tokyo", "MY-VAR": "a \"b\" # c", "MAILTO": ""}
	if !maps.Equal(envOf(mail), want) || mail.Params["dir"] != "/srv" {
		t.Errorf("mail has the params %v", mail.Params)
	}
	if mail.Timezone != "Asia/Tokyo" || report.Timezone != "" || string(mail.DST.Gap) != "skip" {
		t.Errorf("zones %q and %q, dst %v", mail.Timezone, report.Timezone, mail.DST)
	}
	command := []string{"/bin/sh", "-c", `printf %s "$2" | "$0" -c "$1"`, "/bin/bash", `( mail -s "at %H" root )`, "Dear all,\n\n100% done\n"}
	if got := texts(mail.Params["command"]); !slices.Equal(got, command) {
		t.Errorf("mail runs %q, want %q", got, command)
	}
}

func envOf(job config.JobConfig) map[string]any {
	env, _ := job.Params["env"].(map[string]any)
	return env
}

func texts(list any) (all []string) {
	items, _ := list.([]any)
	for _, item := range items {
		text, _ := item.(string)
		all = append(all, text)
	}
	return all
}

// The first % without a backslash before it ends the command. A pair of backslashes is one
// for the shell, and escapes no %.
func TestEscapes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{ // the command, and its input
		`a\%b`:        {"a%b"},
		`a%b\%c%d`:    {"a", "b%c\nd\n"},
		`a\%b%c\\%d%`: {"a%b", "c\\%d\n"},
		`a\`:          {`a\`},
		`a\b\c`:       {`a\b\c`},
		`a%%`:         {"a", "\n"},
		`a%b%\`:       {"a", "b\n\\"},
	} {
		cfg, _, _ := imported(t, "0 0 * * * "+text+"\n", crontab.Options{Timezone: "UTC"})
		if got := texts(cfg.Jobs["a"].Params["command"]); !slices.Equal(got[len(got)-len(want):], want) {
			t.Errorf("%s runs %q, want %q", text, got, want)
		}
	}
}

// TestInput runs a command with % as the job would.
func TestInput(t *testing.T) {
	t.Parallel()
	cfg, _, _ := imported(t, "* * * * * cat && exit 3%one%two\n", crontab.Options{Timezone: "UTC"})
	command := texts(cfg.Jobs["cat"].Params["command"])
	out, err := exec.CommandContext(t.Context(), command[0], command[1:]...).Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); string(out) != "one\ntwo\n" || !ok || exit.ExitCode() != 3 {
		t.Errorf("output %q, error %v; cron gives it two lines and status 3", out, err)
	}
}

// TestNamed has lines that lose something: each is named with its place, and a job without
// its meaning is left out.
func TestNamed(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		line, want string
		leftOut    int
	}{
		{"@reboot /bin/start", "tab:1:1: left out: @reboot has no tick", 1},
		{"0 0 */2 * 1 x", "tab:1:5: left out: cron wants both day fields to match", 1},
		{"0 0 1 * */2 x", "tab:1:5: left out: cron wants both day fields to match", 1},
		{"A=${file:/x}\n0 0 * * * echo ${env:HOME} $${env:X} ${env:-x}", "", 0},
		{"MAILTO=ann@example.com", "tab:1:1: MAILTO: Quorate sends no mail", 0},
		{"RANDOM_DELAY=5", "tab:1:1: RANDOM_DELAY: write jitter", 0},
		{"LOGNAME=ann", "tab:1:1: LOGNAME is dropped", 0},
		{"QUORATE_JOB=a", "tab:1:1: QUORATE_JOB is dropped", 0},
		{"CRON_TZ=Europe/Paris\n5 0-23 * * * x", "tab:1:1: CRON_TZ: to cronie, as here, lines below are in Europe/Paris; Debian's and Ubuntu's cron ignore it, and run them in UTC", 0},
		{"CRON_TZ=Europe/Paris\n5 0-11,12-23 * * * x", "x: when clocks change", 0},
		{"CRON_TZ=", "tab:1:1: CRON_TZ ends: to cronie", 0},
		{`CRON_TZ=""`, "tab:1:1: CRON_TZ ends: to cronie", 0},
		{"A=", `tab:1:1: A has no value: Debian's cron cannot read the line`, 0},
		{"USER=ann", "tab:1:1: USER is dropped", 0},
		{"A=b\r\n0 0 * * * x\r", "tab:1:1: lines end with a carriage return", 0},
		{"# end\r", "tab:1:1: lines end with a carriage return", 0},
		{`MAILTO=""`, "", 0},
		{"MY-VAR=x", "", 0},
		{`"my var"='a'`, "", 0},
		{"5 12 */100,1-7 * 1 x", "tab:1:6: left out: cron wants both day fields to match, because one begins with *", 1},
	} {
		_, _, result := imported(t, tc.line+"\n0 0 * * * last\n", crontab.Options{File: "tab", Timezone: "UTC", IsUser: func(string) bool { return false }})
		var got []string
		for _, n := range result.Notes {
			got = append(got, n.String())
		}
		if result.LeftOut != tc.leftOut || (tc.want == "") != (len(got) == 0) || !strings.Contains(strings.Join(got, "\n"), tc.want) {
			t.Errorf("%s: %d left out, notes %q, want %q", tc.line, result.LeftOut, got, tc.want)
		}
	}
}

// A last line without a line break is converted, and noted.
func TestUnendedLine(t *testing.T) {
	t.Parallel()
	cfg, _, result := imported(t, "0 0 * * * a\n0 1 * * * b", crontab.Options{File: "tab", Timezone: "UTC"})
	if len(cfg.Jobs) != 2 || len(result.Notes) != 1 || !strings.HasPrefix(result.Notes[0].String(), "tab:2:1: the line has no line break at its end") {
		t.Errorf("%d jobs, notes %v", len(cfg.Jobs), result.Notes)
	}
}

// What the configuration would resolve stays the text that cron takes it for.
func TestReferencesStayText(t *testing.T) {
	t.Parallel()
	const text = "echo ${env:HOME} $${file:/x} ${env:-x}"
	cfg, _, _ := imported(t, "# "+text+"\nA="+text+"\n# "+text+"\n0 0 * * * "+text+"\n", crontab.Options{File: "tab", Timezone: "UTC"})
	for _, job := range cfg.Jobs {
		command, env := job.Params["command"].([]any), job.Params["env"].(map[string]any)
		for _, written := range []any{command[len(command)-1], env["A"]} {
			if got, err := refs.Resolve(written.(string)); err != nil || got != text {
				t.Errorf("%s becomes %q, %v", written, got, err)
			}
		}
		if job.Description != text {
			t.Errorf("description %q", job.Description)
		}
	}
}

func TestUsers(t *testing.T) {
	t.Parallel()
	cfg, _, result := imported(t, "0 0 * * * www-data a\n0 1 * * * www-data b\n", crontab.Options{File: "tab", System: true, Timezone: "UTC"})
	if cfg.Jobs["a"].Labels["user"] != "www-data" || cfg.Jobs["b"].Labels["user"] != "www-data" {
		t.Errorf("labels %v and %v", cfg.Jobs["a"].Labels, cfg.Jobs["b"].Labels)
	}
	if len(result.Notes) != 1 || result.Notes[0].Line != 1 {
		t.Errorf("notes %v, want one about the user", result.Notes)
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		line, want string
		system     bool
	}{
		{"0 0 * *", "tab:1:8: the line ends after 4 of 5 fields", false},
		{"0 0 * * *", "tab:1:10: the line has no command", false},
		{"0 0 * * * %in", "tab:1:11: the line has no command", false},
		{"60 0 * * * x", `tab:1:1: has a bad minute field "60": write values from 0 to 59`, false},
		{"0  24 * * * x", `tab:1:4: has a bad hour field "24": write values from 0 to 23`, false},
		{"0 22-2 * * * x", "tab:1:3: not every cron reads \"22-2\": the range runs backwards", false},
		{"0 0 * * fri-sun x", "tab:1:9: not every cron reads \"fri-sun\"", false},
		{"0 0 L * * x", "tab:1:5: not every cron reads \"L\"", false},
		{"H 0 * * * x", "tab:1:1: not every cron reads \"H\"", false},
		{"5/15 0 * * * x", "tab:1:1: crons disagree on \"5/15\"", false},
		{"0 0 31 2 * x", "tab:1:5: never ticks", false},
		{"@every 5m x", "tab:1:1: cron knows no @every", false},
		{"CRON_TZ=Nowhere", "tab:1:9: CRON_TZ: unknown time zone", false},
		{`A="b`, "tab:1:1: the line is no schedule, and no variable", false},
		{`A="b" c`, "tab:1:1: the line is no schedule, and no variable", false},
		{`"A=B"=c`, "tab:1:1: the line is no schedule, and no variable", false},
		{`=x`, `tab:1:2: "" is no name of a variable`, false},
		{`A="'x'"`, `tab:1:4: crons disagree on A: to Debian's it is "x", to cronie "'x'"`, false},
		{`A="x "`, `tab:1:4: crons disagree on A: to Debian's it is "x", to cronie "x "`, false},
		{"A=" + strings.Repeat("x", 997), "tab:1:1: crons disagree on a variable whose line is longer than 998 bytes", false},
		{"SHELL=bash", `tab:1:7: SHELL is "bash": write an absolute path`, false},
		{"HOME=", `tab:1:6: HOME is "": write an absolute path`, false},
		{`0 0 * * * echo a\\b`, `tab:1:11: crons disagree on \\ in a command: to Debian's it is one backslash, to cronie two`, false},
		{`0 0 * * * echo \\\%b`, `tab:1:11: crons disagree on \\ in a command`, false},
		{"0 0 * * * * x", "tab:1:11: some crons read no command that begins with *", false},
		{"-0 0 * * * x", `tab:1:1: not every cron reads "-0"`, false},
		{"0 0 * * * root php x", "tab:1:11: root is a user: if the crontab names one in each line, import it with --system; if it is the command, with --system=false", false},
		{"@daily\troot php x", "tab:1:8: root is a user", false},
		{"*/4294967297 0 * * * x", `tab:1:1: not every cron reads "*/4294967297"`, false},
		{"0 0 * * * /bin/x", `tab:1:11: "/bin/x" is no user name`, true},
		{"0 0 * * * a\xff", "tab:1:12: the line has a byte that is no UTF-8", false},
	} {
		_, err := crontab.Import(tc.line+"\n", crontab.Options{File: "tab", System: tc.system, Timezone: "UTC", IsUser: func(word string) bool { return word == "root" }})
		if _, ok := errors.AsType[*settings.Error](err); !ok || !strings.HasPrefix(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %s", tc.line, err, tc.want)
		}
	}
}

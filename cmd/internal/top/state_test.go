package top

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/quorate/quorate/cmd/internal/cmdtest"
	"github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/scheduler/commands"
	"github.com/quorate/quorate/scheduler/ledger"
)

// A user presses keys and looks at frames.
type user struct {
	data   snapshot
	layout layout
	last   request
	given  []commands.Command
}

func newUser(d snapshot, width, height int) *user {
	return &user{data: d, layout: layout{name: "namespace quorate", width: width, height: height, live: true, now: cmdtest.Tick, note: "every 2s"}}
}

// presses presses keys as a terminal sends them.
func (u *user) presses(text string) *user {
	keys, _ := keysOf([]byte(text))
	if strings.HasSuffix(text, "\x1b") {
		keys = append(keys, keyEscape)
	}
	for _, k := range keys {
		u.layout.state, u.last = u.layout.press(k, u.data.extent(u.layout))
		if u.last.command != nil {
			u.given = append(u.given, *u.last.command)
		}
	}
	return u
}

func (u *user) sees() string { return strings.Join(u.data.frame(u.layout), "\n") }

// selected is the selected row.
func (u *user) selected() string {
	for line := range strings.Lines(u.sees()) {
		if _, row, found := strings.Cut(line, "▸ "); found {
			return strings.TrimSpace(row)
		}
	}
	return ""
}

const (
	up, down, pageUp, pageDown = "\x1b[A", "\x1b[B", "\x1b[5~", "\x1b[6~"
	home, end, backTab         = "\x1b[H", "\x1b[F", "\x1b[Z"
)

// Keys move the selection through all rows, and the frame shows it, at any size.
func TestTopSelects(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		keys, want string
	}{
		{"", "01:58:00  nightly-report"},
		{"j", "01:57:00  nightly-report"},
		{down + "\x1bOB" + up, "01:57:00  nightly-report"},
		{"kkk", "01:58:00  nightly-report"},
		{"\t", "backup"},
		{"\t\t", "heartbeat"},
		{"\t\t\t", "web-3-4f2a"},
		{backTab, "redis-3"},
		{"\t\t\t\t\t", "01:58:00"},
		{end, "redis-5"},
		{"Gjjj", "redis-5"},
		{end + home, "01:58:00  nightly-report"},
		{pageDown, "web-2-4f2a"},
		{"G" + pageUp + pageUp, "01:58:00  nightly-report"},
		{"\t\tjj", "billing.invoices.and.reminders"}, // it is below the rows of its section
	} {
		if got := newUser(troubled(), 80, 24).presses(tc.keys).selected(); !strings.HasPrefix(got, tc.want) {
			t.Errorf("%q selects %q, want %q", tc.keys, got, tc.want)
		}
	}
	for _, height := range []int{3, 5, 10, 24} {
		u := newUser(thousand(), 40, height)
		for _, keys := range []string{"", pageDown, pageDown + down, end, pageUp, "\t", "k", "\t", pageDown + pageDown, "\t\t", "j"} {
			if u.presses(keys); u.selected() == "" {
				t.Fatalf("%d lines: no selected row in\n%s", height, u.sees())
			}
		}
	}
}

// The selection follows its job, not its line: when others come, when the row goes, and when
// the order changes.
func TestTopSelectionSticks(t *testing.T) {
	t.Parallel()
	u := newUser(troubled(), 100, 40).presses("jjj")
	if got := u.selected(); !strings.Contains(got, "customers.refresh") {
		t.Fatalf("selected %q", got)
	}
	other := u.data.ticks[1]
	other.Job = "another"
	u.data.ticks = append([]view.Tick{other}, u.data.ticks...)
	if got := u.selected(); !strings.Contains(got, "customers.refresh") {
		t.Errorf("after a new problem %q is selected", got)
	}
	if got := u.presses("s").selected(); !strings.Contains(got, "customers.refresh") {
		t.Errorf("in another order %q is selected", got)
	}
	u.data.ticks = slices.DeleteFunc(u.data.ticks, func(t view.Tick) bool { return t.Job == "customers.refresh" })
	if got := u.selected(); got == "" {
		t.Error("nothing is selected after the row has gone")
	}
	u = newUser(troubled(), 100, 40).presses("\t")
	u.data.next = append(u.data.next, view.Next{Job: "backup", Tick: *view.Stamp(cmdtest.Tick.Add(time.Hour))})
	u.data.running = nil
	if got := u.selected(); !strings.HasPrefix(got, "backup ") {
		t.Errorf("after the run has ended %q is selected", got)
	}
}

func TestTopSearches(t *testing.T) {
	t.Parallel()
	u := newUser(troubled(), 80, 24)
	for _, tc := range []struct {
		keys          string
		title, bottom string
		shown, hidden []string
	}{
		{"/", "quorate top  namespace", "/█", []string{"backup"}, nil},
		{"REFX", "quorate top  /REFX  namespace", "/REFX█", []string{"No job, replica or node matches /REFX"}, []string{"nightly"}},
		{"\x7f", "quorate top  /REF  namespace", "/REF█", []string{"PROBLEMS 1", "customers.refresh"}, []string{"nightly", "backup", "voting"}},
		{"\r", "quorate top  /REF  namespace", "", []string{"customers.refresh"}, []string{"nightly", "█"}},
		{"\x1b", "quorate top  namespace", "", []string{"customers.refresh", "nightly-report", "backup"}, nil},
		{"/web-2\r", "quorate top  /web-2  namespace", "", []string{"REPLICAS 1"}, []string{"web-3-4f2a  draining"}},
		{"/\x15x\x1b", "quorate top  namespace", "", []string{"REPLICAS 3"}, nil},
	} {
		text := u.presses(tc.keys).sees()
		lines := strings.Split(text, "\n")
		if !strings.HasPrefix(lines[0], tc.title) || !strings.HasPrefix(lines[len(lines)-1], tc.bottom) {
			t.Errorf("%q: wrong first or last line:\n%s", tc.keys, text)
		}
		for _, want := range tc.shown {
			if !strings.Contains(text, want) {
				t.Errorf("%q: no %q in\n%s", tc.keys, want, text)
			}
		}
		body := strings.Join(lines[4:], "\n")
		for _, not := range tc.hidden {
			if strings.Contains(body, not) {
				t.Errorf("%q: %q in\n%s", tc.keys, not, text)
			}
		}
	}
}

// s changes the order of the problems, which the title of the section names.
func TestTopOrders(t *testing.T) {
	t.Parallel()
	d := snapshot{since: cmdtest.Tick.Add(-time.Hour), read: cmdtest.Tick, nodes: troubled().nodes}
	for n, job := range []string{"b", "c", "a", "c"} {
		d.ticks = append(d.ticks, view.NewTick(ledger.Entry{Job: job, Tick: cmdtest.Tick.Add(-time.Duration(n) * time.Second), Token: 1, Outcome: ledger.Failed}))
	}
	u := newUser(d, 80, 24)
	for _, tc := range []struct{ keys, title, jobs string }{
		{"", "PROBLEMS 3, newest first", "bca"}, {"s", "PROBLEMS 3, most often first", "cba"}, {"s", "PROBLEMS 3, by name", "abc"}, {"s", "PROBLEMS 3, newest first", "bca"},
	} {
		text := u.presses(tc.keys).sees()
		_, after, found := strings.Cut(text, tc.title+"\n")
		var names []string
		for _, line := range strings.Split(after, "\n")[:min(3, strings.Count(after, "\n"))] {
			names = append(names, strings.Fields(line)[2])
		}
		if jobs := strings.Join(names, ""); !found || jobs != tc.jobs {
			t.Errorf("want %s: %s, got %s in\n%s", tc.title, tc.jobs, jobs, text)
		}
	}
}

// detail is what is known of the job of the first problem.
func detail(job string) *jobDetail {
	d := &jobDetail{job: job}
	d.versions = []view.Job{{
		Job: job, Key: job, Schedule: view.Optional("*/1 * * * *"), Timezone: view.Optional("Europe/Berlin"), Func: view.Optional("exec"), Live: true,
		LastOutcome: view.Optional(ledger.Failed), LastSuccess: view.Stamp(cmdtest.Tick.Add(-time.Minute)), Unsuccessful: 4,
	}}
	d.policies = []view.Fact{{Name: "Timeout", Text: "5 min"}, {Name: "A run whose replica dies", Text: "is not repeated"}}
	for i := range 3 {
		d.next = append(d.next, view.Next{Job: job, Tick: *view.Stamp(cmdtest.Tick.Add(time.Duration(1+i) * time.Minute))})
	}
	for _, e := range cmdtest.Entries()[1:] {
		for range 8 {
			d.ticks = append(d.ticks, view.NewTick(e))
		}
	}
	return d
}

// Enter shows a job, a replica or a node; q and Escape lead back to the selected row.
func TestTopPages(t *testing.T) {
	t.Parallel()
	paused := detail("nightly-report")
	paused.versions[0].Paused = view.Optional("paused by ann at 2026-12-01T01:00:00Z: the bank is down")
	paused.err = fmt.Errorf("the store does not answer")
	for _, tc := range []struct {
		name, keys    string
		job           *jobDetail
		width, height int
	}{
		{"job", "\r", detail("nightly-report"), 80, 24},
		{"job-end", "\r" + end, detail("nightly-report"), 80, 24},
		{"job-paused-60x12", "\r", paused, 60, 12},
		{"job-reading", "\r", nil, 80, 24},
		{"replica", "\t\t\t\r", nil, 80, 24},
		{"node", backTab + "\r", nil, 80, 24},
	} {
		u := newUser(troubled(), tc.width, tc.height)
		selected := u.presses(tc.keys).layout.selected
		if (u.layout.openJob() != "") == (selected.about.kind != aJob) {
			t.Errorf("%s: %q is the job of %+v", tc.name, u.layout.openJob(), selected)
		}
		if tc.job != nil {
			u.layout.state = u.layout.arrived(tc.job)
			u.presses(tc.keys[1:])
		}
		cmdtest.Golden(t, "page-"+tc.name+".txt", u.sees()+"\n")
		for _, back := range []string{"q", "\x1b"} {
			again := *u
			if again.presses(back); again.layout.page != nil || again.last.quit || again.layout.selected != selected {
				t.Errorf("%s: %q does not lead back: %+v", tc.name, back, again.layout.state)
			}
		}
	}
	u := newUser(troubled(), 80, 24).presses("\r")
	if u.last.read != "nightly-report" {
		t.Errorf("Enter asks for %+v", u.last)
	}
	u.layout.state = u.layout.arrived(detail("nightly-report"))
	bottom := u.presses(end).layout.page.scroll
	if below := u.presses(pageDown + "j").layout.page.scroll; below != bottom || bottom == 0 {
		t.Errorf("the page ends at line %d, and scrolls to %d", bottom, below)
	}
	u = newUser(troubled(), 80, 24).presses("\t\t\t\r")
	u.data.replicas = nil
	if text := u.sees(); !strings.Contains(text, "web-3-4f2a") || !strings.Contains(text, "It is no longer listed.") {
		t.Errorf("a replica that has gone:\n%s", text)
	}
}

func pausedDetail(why string, pause view.Command) *jobDetail {
	d := detail("nightly-report")
	d.pauses, d.versions[0].Paused = []view.Command{pause}, &why
	return d
}

// A command is given only after y, and the question names all of it.
func TestTopAsks(t *testing.T) {
	t.Parallel()
	own := pausedDetail("paused by ann", view.Command{Job: view.Optional("nightly-report"), By: view.Optional("ann"), At: "2026-12-01T01:00:00Z", Reason: view.Optional("the bank is down")})
	tagged := pausedDetail("tag finance paused by ann", view.Command{Tag: view.Optional("finance"), By: view.Optional("ann")})
	unread := detail("nightly-report")
	unread.err = fmt.Errorf("forbidden")
	for _, tc := range []struct {
		name        string
		needsReason bool
		before      string
		job         *jobDetail
		after       string
		want        commands.Command
		shown       string
	}{
		{"trigger", false, "t", nil, "", commands.Command{}, "Trigger nightly-report now? y/n"},
		{"no other key means yes", false, "t", nil, "j \rnt\x1btqty", commands.Command{Kind: commands.Trigger, Job: "nightly-report"}, ""},
		{"n", false, "tn", nil, "y", commands.Command{}, "PROBLEMS"},
		{"a reason", true, "t", nil, "", commands.Command{}, "Trigger nightly-report. Reason: █"},
		{"no reason", true, "t\r", nil, "y", commands.Command{}, "Reason: y█"},
		{"with a reason", true, "ttryx\x7f\r", nil, "", commands.Command{}, `Trigger nightly-report now, reason "try"? y/n`},
		{"after the reason", true, "ttry\ry", nil, "", commands.Command{Kind: commands.Trigger, Job: "nightly-report", Reason: "try"}, ""},
		{"pauses are read", false, "p", nil, "y", commands.Command{}, "PROBLEMS"},
		{"pause", false, "p", detail("nightly-report"), "a b\r", commands.Command{}, `Pause nightly-report, reason "a b", skipping its ticks until it is resumed? y/n`},
		{"paused", false, "p", detail("nightly-report"), "a b\ry", commands.Command{Kind: commands.Pause, Job: "nightly-report", Reason: "a b"}, ""},
		{"resume", false, "p", own, "", commands.Command{}, "Resume nightly-report? It was paused by ann at 2026-12-01T01:00:00Z: the bank is down. y/n"},
		{"resumed", false, "p", own, "y", commands.Command{Kind: commands.Resume, Job: "nightly-report"}, ""},
		{"by tag", false, "p", tagged, "", commands.Command{}, "tag finance paused by ann. Only quorate resume"},
		{"unknown", false, "p", unread, "", commands.Command{}, "nightly-report: forbidden"},
		{"another key came first", false, "pj", own, "y", commands.Command{}, "PROBLEMS"},
		{"on the page", false, "\rt", nil, "", commands.Command{}, "Trigger nightly-report now? y/n"},
		{"a node", false, "Gt", nil, "", commands.Command{}, "Select a job to trigger or pause it."},
		{"the page of a node", false, "G\rp", nil, "", commands.Command{}, "Select a job to trigger or pause it."},
	} {
		u := newUser(troubled(), 100, 24)
		u.layout.needsReason = tc.needsReason
		if u.presses(tc.before); tc.job != nil {
			u.layout.state = u.layout.arrived(tc.job)
		}
		u.presses(tc.after)
		var want []commands.Command
		if tc.want.Kind != "" {
			want = append(want, tc.want)
		}
		if fmt.Sprint(u.given) != fmt.Sprint(want) || !strings.Contains(strings.Join(strings.Fields(u.sees()), " "), tc.shown) {
			t.Errorf("%s: the commands are %+v, want %+v; want %q in\n%s", tc.name, u.given, want, tc.shown, u.sees())
		}
	}
}

// Any keys at any size keep to the terminal: no line too many or too long, and no panic.
func TestTopKeepsToTheTerminal(t *testing.T) {
	t.Parallel()
	for _, d := range []snapshot{troubled(), noQuorum(), {}, thousand()} {
		for _, size := range [][2]int{{1, 1}, {2, 2}, {10, 3}, {40, 10}, {80, 24}} {
			u := newUser(d, size[0], size[1])
			for i, keys := range []string{"", "?", "?", "/r", "\r", "\t\t", "t", "n", "\r", end, "p", "t", "\x1b", "\x1b", "G", "\r", "G", "q", "/nothing", "j\r", "\x1b"} {
				u.presses(keys)
				if job := u.layout.openJob(); job != "" {
					u.layout.state = u.layout.arrived(detail(job))
				}
				lines := u.data.frame(u.layout)
				if len(lines) > size[1] {
					t.Fatalf("%v, step %d: %d lines", size, i, len(lines))
				}
				for _, line := range lines {
					if utf8.RuneCountInString(line) > size[0] {
						t.Fatalf("%v, step %d: too long: %s", size, i, line)
					}
				}
			}
		}
	}
}

// A question shows all of a long name, however narrow the terminal is.
func TestTopQuestionIsWhole(t *testing.T) {
	t.Parallel()
	u := newUser(troubled(), 20, 24).presses("/billing\rt")
	whole := strings.Join(strings.Split(u.sees(), "\n")[18:], "")
	if want := "billing.invoices.and.reminders.of.all.customers now? y/n"; !strings.HasSuffix(whole, want) {
		t.Errorf("no %q in\n%s", want, u.sees())
	}
}

// The selected row is inverse over the whole width where there are colours.
func TestTopSelectionInColor(t *testing.T) {
	t.Parallel()
	u := newUser(troubled(), 80, 24)
	u.layout.color = true
	if row := u.data.frame(u.layout)[5]; !strings.HasPrefix(row, "\x1b[7m✕\x1b[0m\x1b[7m▸ \x1b[0m\x1b[7m01:58:00") {
		t.Errorf("the selected row is %q", row)
	}
}

func TestKeys(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		read string
		want []key
		rest string
	}{
		{"aé", []key{'a', 'é'}, ""},
		{"\x1b[A\x1bOB\x1b[5~\x1b[6~", []key{keyUp, keyDown, keyPageUp, keyPageDown}, ""},
		{"\x1b[1~\x1bOH\x1b[4~\x1b[F\x1b[Z\t", []key{keyHome, keyHome, keyEnd, keyEnd, keyBackTab, keyTab}, ""},
		{"\x1bq\x1b[1;5Az", []key{'z'}, ""}, // with Alt, with Ctrl
		{"\r\n\b\x7f", []key{keyEnter, keyEnter, keyBackspace, keyBackspace}, ""},
		{"q\x1b", []key{'q'}, "\x1b"},
		{"\x1b[5", nil, "\x1b[5"},
		{"\x1bO", nil, "\x1bO"},
		{"\xc3", nil, "\xc3"},
		{"\xffx", []key{'x'}, ""},
	} {
		keys, rest := keysOf([]byte(tc.read))
		if !slices.Equal(keys, tc.want) || string(rest) != tc.rest {
			t.Errorf("%q: %v and %q, want %v and %q", tc.read, keys, rest, tc.want, tc.rest)
		}
	}
}

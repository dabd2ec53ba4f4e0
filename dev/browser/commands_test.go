package browser_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// testCommands lets an operator and an admin do everything there is to do, first with
// scripts and then without.
func testCommands(t *testing.T, browser *chromium, home string) {
	operator, admin := login(t, browser, home, "operator"), login(t, browser, home, "admin")
	for _, scripts := range []bool{true, false} {
		operator.scripts(scripts)
		admin.scripts(scripts)
		wait := (*tab).wait
		if !scripts {
			wait = (*tab).waitLoading
		}
		operator.triggers(wait)
		operator.pauses()
		operator.backfills(wait)
		operator.cancels(wait)
		admin.releases(wait)
		for _, b := range []*tab{operator, admin} {
			if bad := b.noticed(); len(bad) > 0 {
				t.Errorf("while acting: %v", bad)
			}
		}
	}
}

// A waiter waits until an expression is true.
type waiter func(b *tab, what, expression string)

// says is the expression that the page says something.
func says(words string) string {
	return `document.querySelector("main").innerText.includes(` + quote(words) + `)`
}

// lists is the expression that a row of the page's table says something.
func lists(words string) string {
	return `[...document.querySelectorAll("main tbody tr")].some(row => row.innerText.includes(` + quote(words) + `))`
}

// asks opens a form by a link of a page, and fills in the reason and pairs of other
// fields and values.
func (b *tab) asks(page, form string, pairs ...string) {
	b.t.Helper()
	b.open(page)
	b.click(fmt.Sprintf(`main a[href$=%q]`, form))
	b.fill("reason", hostile)
	for i := 0; i+1 < len(pairs); i += 2 {
		b.fill(pairs[i], pairs[i+1])
	}
}

// send sends the form and wants the next page to say some words.
func (b *tab) send(words string) {
	b.t.Helper()
	if status := b.click("form.act button.primary"); status != 200 {
		b.t.Errorf("%s: status %d", b.where(), status)
	}
	b.sees(words)
}

func (b *tab) triggers(wait waiter) {
	b.t.Helper()
	b.asks("/jobs/nightly-report", "/jobs/nightly-report/trigger", "params", `{"lines": ["asked for"]}`)
	b.send("Triggered")
	b.open("/ticks?job=nightly-report&outcome=succeeded")
	wait(b, "the triggered run", lists("manual"))
	b.asks("/jobs/hostile", "/jobs/hostile/trigger", "params", `{"lines": [`+quote(hostile)+`]}`)
	b.send("Triggered")
	b.open("/ticks?job=hostile")
	wait(b, "the triggered run that fails", lists("failed"))
}

func (b *tab) pauses() {
	b.t.Helper()
	b.asks("/jobs/nightly-report", "/jobs/nightly-report/pause")
	b.send("Its ticks are skipped")
	b.asks("/jobs/nightly-report", "/jobs/nightly-report/resume")
	b.send("Resumed")
	b.asks("/jobs", "/pause", "tag", "finance")
	b.send("Paused")
	b.open("/")
	b.sees("tag finance", hostile)
	b.asks("/jobs", "/resume", "tag", "finance")
	b.send("Resumed")
}

// backfills asks for three ticks of the past, after a look at them.
func (b *tab) backfills(wait waiter) {
	b.t.Helper()
	hour := time.Now().UTC().Truncate(time.Hour)
	at := func(hours time.Duration) string { return hour.Add(-hours * time.Hour).Format("2006-01-02T15:04") }
	b.asks("/jobs/hourly-sync", "/jobs/hourly-sync/backfill", "from", at(30), "to", at(27))
	b.send("3 ticks would run")
	b.send("Backfill requested")
	b.open("/ticks?job=hourly-sync&trigger=backfill&outcome=succeeded")
	wait(b, "three runs of the past", `document.querySelectorAll("tbody tr").length >= 3`)
}

func (b *tab) cancels(wait waiter) {
	b.t.Helper()
	b.begins("import", wait)
	b.asks("/jobs/import", "/jobs/import/cancel")
	b.send("Cancelled: the runs were asked to stop")
	b.open("/ticks?job=import&outcome=cancelled,running")
	wait(b, "the run is cancelled", lists("cancelled")+` && !`+lists("running"))
}

// begins triggers a job and waits until it runs.
func (b *tab) begins(job string, wait waiter) {
	b.t.Helper()
	b.starts(job)
	b.open("/")
	wait(b, job+" runs", isRunning(job))
}

// isRunning is the expression that the overview lists a run of the job.
func isRunning(job string) string { return "!!" + runningRow(job) }

func runningRow(job string) string {
	return `document.querySelector('#running li:has(a[href*="/runs/` + job + `@"])')`
}

// runner is the replica that runs the job, by the overview.
func (b *tab) runner(job string) string {
	b.t.Helper()
	return eval[string](b, runningRow(job)+`.querySelector("span").textContent`)
}

// releases takes a lock away, and first writes its name wrong.
func (b *tab) releases(wait waiter) {
	b.t.Helper()
	b.begins("import", wait)
	b.asks("/locks", "/locks/import/release", "confirm", "imprt")
	if status := b.click("form.act button.primary"); status != 400 {
		b.t.Errorf("another name than that of the lock is answered with %d", status)
	}
	if kept := eval[string](b, `document.querySelector("[name=reason]").value`); kept != hostile {
		b.t.Errorf("the form forgets what was filled in: %q", kept)
	}
	b.fill("confirm", "import")
	b.send("The lock was taken")
	b.open("/ticks?job=import&outcome=lease_lost")
	wait(b, "the run has lost its lease", lists("lease lost"))
}

// testRefused wants who may only read to see no command, and to be refused when asking
// for one all the same; and who is nobody to see nothing.
func testRefused(t *testing.T, browser *chromium, home string) {
	viewer := login(t, browser, home, "viewer")
	for _, path := range everyPage(viewer) {
		viewer.open(path)
		commands := `document.querySelectorAll("form.act, main a.button[href$='/release'], .acts a").length`
		if n := eval[int](viewer, commands); n > 0 {
			t.Errorf("a viewer is offered %d commands on %s", n, path)
		}
	}
	operator := login(t, browser, home, "operator")
	operator.open("/locks/import/release")
	operator.sees("needs the role admin")

	forge := func(b *tab, path string) int64 {
		post := fmt.Sprintf(`fetch(%q, {method: "POST", body: new URLSearchParams({reason: "forged", confirm: "import", all: "1"})}).then(r => r.status)`, home+path)
		return await[int64](b, post)
	}
	for _, command := range []string{"/jobs/import/trigger", "/jobs/import/pause", "/jobs/import/resume", "/jobs/import/backfill", "/jobs/import/cancel", "/pause", "/resume", "/locks/import/release"} {
		if status := forge(viewer, command); status != 403 {
			t.Errorf("a viewer who forges %s is answered with %d", command, status)
		}
	}
	if status := forge(operator, "/locks/import/release"); status != 403 {
		t.Errorf("an operator who forges a release is answered with %d", status)
	}
	viewer.open("/audit")
	viewer.sees("viewer@127.0.0.1", "operator@127.0.0.1", "refused")

	for _, path := range []string{"/", "/jobs", "/audit", "/jobs/import/trigger"} {
		if status, text := anonymous(t, home+path); status != 401 || strings.Contains(text, "heartbeat") || strings.Contains(text, "<textarea") {
			t.Errorf("nobody is answered with %d on %s:\n%s", status, path, text)
		}
	}
}

// anonymous asks without a name, and not in the browser, which would ask for one.
func anonymous(t *testing.T, url string) (int, string) {
	t.Helper()
	reply, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer reply.Body.Close()
	text, err := io.ReadAll(reply.Body)
	if err != nil {
		t.Fatal(err)
	}
	return reply.StatusCode, string(text)
}

package scheduler_test

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quorate/quorate/scheduler/ledger"
)

// lifePage has the tables of a tick's life.
const lifePage = "../docs/architecture.md"

// A table of lifePage: each cell is the result for the tick if both the row and the column
// happen.
type lifeTable struct {
	corner        string // the first cell of the head, which identifies the table
	rows, columns map[string]scene
}

var lifeTables = []lifeTable{
	{"it waits for", lifeWaits, lifeEvents},
	{"the nodes answer", lifeAnswers, lifeWindows},
	{"the run", lifeRuns, lifeCrashes},
}

// TestLifeOfATick makes every cell of the tables happen, in virtual time.
func TestLifeOfATick(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(lifePage)
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range lifeTables {
		t.Run(table.corner, func(t *testing.T) {
			t.Parallel()
			table.check(t, markdownTable(string(page), table.corner))
		})
	}
}

func (table lifeTable) check(t *testing.T, cells [][]string) {
	if len(cells) == 0 {
		t.Fatalf("%s has no table with the corner %q", lifePage, table.corner)
	}
	var rows []string
	for _, row := range cells[1:] {
		rows = append(rows, row[0])
	}
	samePage(t, "rows", rows, table.rows)
	samePage(t, "columns", cells[0][1:], table.columns)
	for _, row := range cells[1:] {
		for i, want := range row[1:] {
			column := cells[0][1+i]
			t.Run(row[0]+"/"+column, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					if got := play(t, table.rows[row[0]], table.columns[column]); got != want {
						t.Errorf("the tick %s; the page says: %s", got, want)
					}
				})
			})
		}
	}
}

// samePage wants the page to have all scenes, and no others.
func samePage(t *testing.T, what string, page []string, scenes map[string]scene) {
	t.Helper()
	there, here := slices.Sorted(slices.Values(page)), slices.Sorted(maps.Keys(scenes))
	if !slices.Equal(there, here) {
		t.Fatalf("%s of the page: %q, here: %q", what, there, here)
	}
}

// markdownTable returns the cells of the table whose head begins with the corner.
func markdownTable(page, corner string) [][]string {
	_, after, _ := strings.Cut(page, "\n| "+corner+" |")
	var cells [][]string
	for line := range strings.Lines("| " + corner + " |" + after) {
		if !strings.HasPrefix(line, "|") {
			break
		}
		if strings.HasPrefix(line, "|-") {
			continue
		}
		row := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		for i := range row {
			row[i] = strings.TrimSpace(row[i])
		}
		cells = append(cells, row)
	}
	if after == "" {
		return nil
	}
	return cells
}

// A scene is an event for the tick, or around it.
type scene struct {
	set func(l *life)
	at  time.Duration // after the tick
	do  func(l *life) // then
}

// play makes both scenes happen, and returns the result for the tick: at once, and if that
// is not the end, in the end.
func play(t *testing.T, scenes ...scene) string {
	l := newLife(t)
	var at time.Duration
	for _, s := range scenes {
		if s.set != nil {
			s.set(l)
		}
		at = max(at, s.at)
	}
	l.start()
	time.Sleep(lifeTick + at)
	synctest.Wait()
	for _, s := range scenes {
		if s.do != nil {
			s.do(l)
		}
	}
	after(t, 2*time.Second)
	became, final := l.became()
	l.goOn()
	time.Sleep(3 * time.Minute)
	_ = l.stop() // some functions do not stop in time
	if end, _ := l.became(); !final && end != became {
		became += ", then " + end
	}
	time.Sleep(3 * time.Minute) // other claims end
	return became
}

// became returns the result for the tick by now, and whether it is final.
func (l *life) became() (what string, final bool) {
	for _, e := range l.ticks("j") {
		if l.isIt(e.Tick) && e.Outcome != ledger.Running {
			return strings.TrimSuffix(fmt.Sprintf("%s: %s", e.Outcome, e.Reason.Code), ": "), true
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case slices.ContainsFunc(l.events, func(e string) bool { return strings.HasPrefix(e, "r1: lost j 2m0s") }):
		return "left to it", false
	case l.called:
		return "runs on", false
	}
	return "waits on", false
}

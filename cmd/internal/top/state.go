package top

import (
	"slices"
	"strings"

	"github.com/quorate/quorate/scheduler/commands"
)

// A state is what the user has chosen to see. Only keys and answers change it; drawing
// does not.
type state struct {
	selected rowID // zero: the first row
	place    int   // of the selected row among all, for when it is gone

	search    string // rows show this in their name
	searching bool   // keys change the search
	order     order
	help      bool
	page      *page // nil: the overview

	question *question // it waits for an answer
	pausing  string    // the job whose pauses are being read, to ask whether to pause or resume it
	notice   notice

	// needsReason: the cluster refuses every command without a reason.
	needsReason bool
}

// A page shows one job, replica or node.
type page struct {
	row    rowID
	job    *jobDetail // nil: not read yet
	scroll int
}

// A notice is one message about a command.
type notice struct {
	text string
	look style
}

// A request is what a key asks for besides a new state.
type request struct {
	quit, refresh, suspend bool
	read                   string // the job whose details are needed
	command                *commands.Command
}

// An extent is what keys can reach in the current frame.
type extent struct {
	rows   []rowID
	scroll int // lines of the page above the last screenful
}

// pageRows is how far PgUp and PgDn move.
const pageRows = 10

// press returns the state after a key.
func (s state) press(k key, in extent) (state, request) {
	s.pausing = "" // no question may appear in front of other keys
	switch {
	case k == keyCtrlC, k == keyCtrlD:
		return s, request{quit: true}
	case k == keyCtrlZ:
		return s, request{suspend: true}
	case s.question != nil:
		return s.answer(k)
	case s.searching:
		return s.typeSearch(k, in), request{}
	case k == '?', k == 'h':
		s.help = !s.help
		return s, request{}
	case s.help:
		if k == 'q' || k == 'Q' || k == keyEscape || k == keyEnter {
			s.help = false
		}
		return s, request{}
	}
	if !isMove(k) {
		s.notice = notice{}
	}
	if s.page != nil {
		return s.pressOnPage(k, in)
	}
	return s.pressOnOverview(k, in)
}

func (s state) pressOnOverview(k key, in extent) (state, request) {
	switch k {
	case 'q', 'Q':
		return s, request{quit: true}
	case keyEscape:
		s.search = ""
	case '/':
		s.searching = true
	case 's':
		s.order = (s.order + 1) % orders
	case ' ', 'r':
		return s, request{refresh: true}
	case keyEnter, 't', 'p':
		at := s.locate(in.rows)
		if at < 0 {
			return s, request{}
		}
		if k != keyEnter {
			return s.act(k, in.rows[at].about)
		}
		s = s.selectRow(at, in.rows)
		s.page = &page{row: in.rows[at]}
		return s, request{read: s.openJob()}
	default:
		s = s.move(k, in.rows)
	}
	return s, request{}
}

func (s state) pressOnPage(k key, in extent) (state, request) {
	p := *s.page
	switch k {
	case 'q', 'Q', keyEscape, keyBackspace:
		s.page = nil
		return s, request{}
	case ' ', 'r':
		return s, request{refresh: true}
	case 't', 'p':
		return s.act(k, p.row.about)
	}
	p.scroll = min(max(0, moved(k, p.scroll, in.scroll+1)), in.scroll)
	s.page = &p
	return s, request{}
}

// openJob is the job of the page; empty: the page is about something else, or closed.
func (s state) openJob() string {
	if s.page == nil || s.page.row.about.kind != aJob {
		return ""
	}
	return s.page.row.about.name
}

// typeSearch changes the search while it is typed; arrows select among what it leaves.
func (s state) typeSearch(k key, in extent) state {
	switch k {
	case keyEnter:
		s.searching = false
	case keyEscape:
		s.searching, s.search = false, ""
	default:
		if k < 0 || k == keyTab {
			return s.move(k, in.rows)
		}
		s.search = edited(s.search, k)
	}
	return s
}

// matches reports whether a row with the name is shown.
func (s state) matches(name string) bool {
	return strings.Contains(strings.ToLower(name), strings.ToLower(s.search))
}

// locate returns the place of the selected row; -1 if there are no rows. If it is gone, the
// selection is on another row about the same, else on the one that has its place.
func (s state) locate(rows []rowID) int {
	same := func(r rowID) bool { return r.about == s.selected.about }
	for _, match := range []func(rowID) bool{
		func(r rowID) bool { return r == s.selected },
		func(r rowID) bool { return same(r) && r.section == s.selected.section },
		same,
	} {
		if at := slices.IndexFunc(rows, match); at >= 0 {
			return at
		}
	}
	return min(s.place, len(rows)-1)
}

func (s state) selectRow(at int, rows []rowID) state {
	s.selected, s.place = rows[at], at
	return s
}

// move moves the selection.
func (s state) move(k key, rows []rowID) state {
	at := s.locate(rows)
	switch {
	case at < 0 || !isMove(k):
		return s
	case k == keyTab:
		at = nextSection(rows, at, 1)
	case k == keyBackTab:
		at = nextSection(rows, at, -1)
	default:
		at = moved(k, at, len(rows))
	}
	return s.selectRow(min(max(0, at), len(rows)-1), rows)
}

func isMove(k key) bool {
	return moved(k, 1, 3) != 1 || k == keyTab || k == keyBackTab
}

// moved returns where a key moves from a place among n; the result may be out of bounds.
func moved(k key, at, n int) int {
	switch k {
	case keyUp, 'k':
		return at - 1
	case keyDown, 'j':
		return at + 1
	case keyPageUp:
		return at - pageRows
	case keyPageDown:
		return at + pageRows
	case keyHome, 'g':
		return 0
	case keyEnd, 'G':
		return n - 1
	}
	return at
}

// nextSection is the first row of the next section, or of the previous one; the first
// section follows the last.
func nextSection(rows []rowID, at, step int) int {
	var starts []int
	in := 0
	for i, r := range rows {
		if i == 0 || r.section != rows[i-1].section {
			starts = append(starts, i)
		}
		if i == at {
			in = len(starts) - 1
		}
	}
	return starts[(in+step+len(starts))%len(starts)]
}

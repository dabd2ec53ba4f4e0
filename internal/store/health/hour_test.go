package health_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/quorate/quorate/internal/store/health"
)

// noon begins a minute.
var noon = time.Date(2027, 3, 1, 12, 0, 0, 0, time.UTC)

// shown are the minutes that are known at a time, with the latest round trip of the only node in each.
func shown(h *health.Hour, now time.Time) string {
	var list []string
	for _, m := range h.Minutes(now) {
		list = append(list, fmt.Sprintf("%s=%d", m.At.Format("15:04"), m.Nodes[0].Latest.Milliseconds()))
	}
	return strings.Join(list, " ")
}

func answersIn(ms int) []health.State {
	return []health.State{{Node: "a", Up: true, Votes: true, Latest: time.Duration(ms) * time.Millisecond}}
}

// A minute has the worst of what was noted in it, and nothing is known of minutes in between.
func TestHourHasGaps(t *testing.T) {
	t.Parallel()
	h := new(health.Hour)
	if got := shown(h, noon); got != "" {
		t.Errorf("an hour of nothing has %s", got)
	}
	for _, noted := range []struct{ second, ms int }{{0, 3}, {15, 9}, {59, 4}, {60, 1}, {300, 2}} {
		h.Note(noon.Add(time.Duration(noted.second)*time.Second), answersIn(noted.ms))
	}
	if got, want := shown(h, noon.Add(6*time.Minute)), "12:00=9 12:01=1 12:05=2"; got != want {
		t.Errorf("the hour has %s, want %s", got, want)
	}
}

// The worse of two states has the worse of each part, whichever came first.
func TestHourKeepsTheWorst(t *testing.T) {
	t.Parallel()
	states := []health.State{
		{Node: "a", Up: true, Votes: true, Offset: -9 * time.Millisecond, RTT: 1, Latest: 2},
		{Node: "a", Up: true, Offset: 5 * time.Millisecond, RTT: 3, Latest: 1},
	}
	want := health.State{Node: "a", Up: true, Offset: -9 * time.Millisecond, RTT: 3, Latest: 2}
	for range 2 {
		h := new(health.Hour)
		h.Note(noon, slices.Clone(states[:1]))
		before := h.Minutes(noon)[0]
		h.Note(noon, slices.Clone(states[1:]))
		if got := h.Minutes(noon)[0].Nodes[0]; got != want || before.Nodes[0] != states[0] {
			t.Errorf("the worst of %+v is %+v", states, got)
		}
		slices.Reverse(states)
	}
}

// After an hour minutes come again: those of before are gone, also those that nothing has replaced.
func TestHourWraps(t *testing.T) {
	t.Parallel()
	h := new(health.Hour)
	for i := range 62 {
		h.Note(noon.Add(time.Duration(i)*time.Minute), answersIn(i))
	}
	end := noon.Add(61*time.Minute + 30*time.Second)
	if list := h.Minutes(end); len(list) != 60 || !list[0].At.Equal(noon.Add(2*time.Minute)) || list[59].Nodes[0].Latest != 61*time.Millisecond {
		t.Errorf("%d minutes from %v", len(list), list[0].At)
	}
	if got := shown(h, end.Add(58*time.Minute)); got != "13:00=60 13:01=61" {
		t.Errorf("after a sleep the hour has %s", got)
	}
	if got := shown(h, end.Add(time.Hour)); got != "" {
		t.Errorf("after an hour asleep the hour has %s", got)
	}
}

// A clock that is set forward leaves a gap. One that is set back forgets what would be later than now.
func TestHourFollowsTheClock(t *testing.T) {
	t.Parallel()
	h := new(health.Hour)
	for i := range 5 {
		h.Note(noon.Add(time.Duration(i)*time.Minute), answersIn(1))
	}
	h.Note(noon.Add(30*time.Minute), answersIn(2))
	if got, want := shown(h, noon.Add(30*time.Minute)), "12:00=1 12:01=1 12:02=1 12:03=1 12:04=1 12:30=2"; got != want {
		t.Errorf("after a jump forward %s, want %s", got, want)
	}
	if got, want := shown(h, noon.Add(time.Minute)), "12:00=1 12:01=1"; got != want {
		t.Errorf("before the jump back is noted %s, want %s", got, want)
	}
	h.Note(noon.Add(time.Minute), answersIn(3))
	h.Note(noon.Add(2*time.Minute), answersIn(4))
	if got, want := shown(h, noon.Add(40*time.Minute)), "12:00=1 12:01=3 12:02=4"; got != want {
		t.Errorf("after a jump back %s, want %s", got, want)
	}
}

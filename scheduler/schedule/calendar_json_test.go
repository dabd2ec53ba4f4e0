package schedule

import (
	"encoding/json"
	"slices"
	"testing"
)

// A calendar that was published excludes what the original does.
func TestCalendarsArePublishedWhole(t *testing.T) {
	t.Parallel()
	c := newTestCalendar(t, mustZone(t, "Europe/Paris"), "2026-12-25", "*-12-24..*-01-01", "2027-01-03..2027-01-05")
	if err := c.AddICS(icsOf(
		"DTSTART;VALUE=DATE:20201225\nRRULE:FREQ=YEARLY;INTERVAL=3;COUNT=7", "DTSTART:20261224T120000\nDURATION:P1DT2H3M4S",
		"DTSTART;TZID=Asia/Tokyo:20261225T003000\nDURATION:PT1H\nRRULE:FREQ=YEARLY;UNTIL=20301224T233000Z",
		"DTSTART:20270224T120000Z\nDTEND:20270224T133000Z",
	)); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	var copied Calendar
	if err := json.Unmarshal(text, &copied); err != nil {
		t.Fatal(err)
	}
	if copied.name != c.name || copied.zone.String() != c.zone.String() || !slices.Equal(copied.civil, c.civil) || !slices.Equal(copied.exact, c.exact) {
		t.Errorf("read from %s, the calendar is another one", text)
	}
	if again, err := json.Marshal(&copied); err != nil || string(again) != string(text) {
		t.Errorf("%s was written anew as %s: %v", text, again, err)
	}
	for _, bad := range []string{`[]`, `{"zone":"Mars"}`, `{"days":["x"]}`, `{"events":[{"start":"x"}]}`, `{"events":[{"start":"2026-01-01T00:00:00","zone":"x"}]}`, `{"events":[{"start":"2026-01-01T00:00:00","until":"x"}]}`} {
		if err := json.Unmarshal([]byte(bad), &copied); err == nil {
			t.Errorf("%s is read without an error", bad)
		}
	}
}

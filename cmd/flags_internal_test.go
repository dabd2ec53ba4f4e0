package cmd

import (
	"testing"
	"time"
)

// A day begins at midnight of the user's zone, also where the clocks change.
func TestTimeOf(t *testing.T) {
	t.Parallel()
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2027, 3, 28, 12, 0, 0, 0, berlin) // the day has 23 hours
	for text, want := range map[string]string{
		"today": "2027-03-28T00:00:00+01:00", "yesterday": "2027-03-27T00:00:00+01:00", "24h": "2027-03-27T11:00:00+01:00",
		"2027-01-01T00:00:00Z": "2027-01-01T00:00:00Z", "tomorrow": "", "24": "",
	} {
		got, err := timeOf(text, now)
		if want == "" {
			if err == nil {
				t.Errorf("%s is %v", text, got)
			}
		} else if err != nil || got.Format(time.RFC3339) != want {
			t.Errorf("%s is %v, %v; want %s", text, got.Format(time.RFC3339), err, want)
		}
	}
	if got, err := timeOf("", now); err != nil || !got.IsZero() {
		t.Errorf("empty: %v, %v", got, err)
	}
}

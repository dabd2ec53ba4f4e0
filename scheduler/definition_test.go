package scheduler

import (
	"errors"
	"slices"
	"testing"
	"time"
)

// Who reads a definition computes the same ticks, notes and words.
func TestDefinitionsAreWhole(t *testing.T) {
	t.Parallel()
	paris, tokyo := mustZone(t, "Europe/Paris"), mustZone(t, "Asia/Tokyo")
	parse := func(spec string) Schedule {
		return mustParse(t, spec, ScheduleOptions{Location: paris, DST: DSTPolicy{Gap: DSTGapSkip, Overlap: DSTOverlapBoth}, Name: "nightly"})
	}
	holidays := newTestCalendar(t, nil, "2026-12-25..2026-12-26", "*-05-01")
	if err := holidays.AddICS(icsOf("DTSTART:20261127T010000Z\nDURATION:PT1H")); err != nil {
		t.Fatal(err)
	}
	excluded, err := Exclude(Union(parse("30 2 * * *"), parse("@every 7h offset 5m")), tokyo, holidays, NewCalendar("freeze", tokyo))
	if err != nil {
		t.Fatal(err)
	}
	bounded, err := Between(excluded, instant(t, "2026-11-01T00:00:00Z"), instant(t, "2027-11-01T00:00:00Z"))
	if err != nil {
		t.Fatal(err)
	}
	for name, s := range map[string]Schedule{
		"fields": parse("30 2 * * *"), "days": parse("0 H LW * fri#2"), "seconds": parse("*/7 * * * * *"), "years": parse("0 0 12 * * 7 2026-2030"),
		"prefix": parse("CRON_TZ=Asia/Tokyo H 2 * * *"), "word": parse("@daily"), "word with prefix": parse("TZ=UTC @daily"),
		"every": parse("@every 1h30m"), "at": parse("@at 2026-12-01T00:00:00.25Z"), "offset": parse("@every 1500ms offset 250ms"),
		"union": Union(parse("30 2 * * *"), parse("@daily")), "nested": Union(Union(parse("30 2 * * *"), parse("@hourly")), parse("@weekly")),
		"excluded": excluded, "bounded": bounded, "excluded bounds": exclude(bounded, paris, []*Calendar{holidays}),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text, err := Definition(s)
			if err != nil {
				t.Fatal(err)
			}
			copied, err := ParseDefinition(text)
			if err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			from := instant(t, "2026-10-24T12:00:00Z")
			if got, want := PreviewExcluded(copied, from, 500), PreviewExcluded(s, from, 500); !slices.Equal(got, want) {
				t.Errorf("%s has other ticks", text)
			}
			if got, want := Describe(copied), Describe(s); got != want {
				t.Errorf("%s\n is  %s\nwas %s", text, got, want)
			}
			if again, err := Definition(copied); again != text || err != nil {
				t.Errorf("%s was written anew as %s: %v", text, again, err)
			}
		})
	}
}

func TestNoDefinition(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]Schedule{
		"of another package": silent{}, "too fast for a spec": Every{Interval: time.Millisecond},
		"member": Union(silent{}, Every{Interval: time.Hour}), "bounded": between{Schedule: silent{}}, "excluded": exclude(silent{}, time.UTC, nil),
	} {
		if text, err := Definition(s); !errors.Is(err, ErrNoDefinition) {
			t.Errorf("%s: %s, error %v", name, text, err)
		}
	}
	for _, text := range []string{"", "{}", `{"spec":"x"}`, `{"zone":"x"}`, `{"any":[{}]}`, `{"of":{}}`, `{"of":{"spec":"@daily"},"exclude":[{"days":["x"]}]}`} {
		if _, err := ParseDefinition(text); err == nil {
			t.Errorf("%q is taken for a definition", text)
		}
	}
}

// A listing computes the ticks of a published job as its replicas do, or none.
func TestPublishedTicks(t *testing.T) {
	t.Parallel()
	s, err := Exclude(mustParse(t, "30 2 * * *", ScheduleOptions{Location: mustZone(t, "Europe/Paris")}), nil, newTestCalendar(t, nil, "2026-12-25"))
	if err != nil {
		t.Fatal(err)
	}
	long := NewCalendar("long", nil)
	for day := time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC); day.Year() < 1984; day = day.AddDate(0, 0, 1) {
		if err := long.Add(day.Format(time.DateOnly)); err != nil {
			t.Fatal(err)
		}
	}
	from := instant(t, "2026-12-24T12:00:00Z")
	for name, tt := range map[string]struct {
		info JobInfo
		want string
	}{
		"excluded":              {(&publisher{replica: "a"}).info(posted{Job: &Job{Schedule: s, Hash: "1"}}), "2026-12-26T01:30:00Z"},
		"no definition":         {(&publisher{replica: "a"}).info(posted{Job: &Job{Schedule: silent{}, Spec: "@daily", Timezone: "UTC", Hash: "1"}}), ""},
		"too long":              {(&publisher{replica: "a"}).info(posted{Job: &Job{Schedule: exclude(s, nil, []*Calendar{long}), Spec: "@daily", Timezone: "UTC", Hash: "1"}}), ""},
		"older release":         {JobInfo{Schedule: "@daily", Timezone: "Europe/Paris"}, "2026-12-24T23:00:00Z"},
		"older release's zone":  {JobInfo{Schedule: "@daily", Timezone: "Mars"}, ""},
		"older release's words": {JobInfo{Schedule: "daily", Timezone: "UTC"}, ""},
	} {
		got, err := tt.info.Ticks()
		switch {
		case tt.want == "" && !errors.Is(err, ErrNoDefinition):
			t.Errorf("%s: error %v, want ErrNoDefinition", name, err)
		case tt.want != "" && (err != nil || got.Next(from) != instant(t, tt.want)):
			t.Errorf("%s: %v, %v, want %s", name, got, err, tt.want)
		}
	}
}

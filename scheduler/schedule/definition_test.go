package schedule

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
		return mustParse(t, spec, Options{Location: paris, DST: DSTPolicy{Gap: DSTGapSkip, Overlap: DSTOverlapBoth}, Name: "nightly"})
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
			if got, want := preview(copied, from, 500), preview(s, from, 500); !slices.Equal(got, want) {
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

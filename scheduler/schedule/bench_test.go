package schedule

import (
	"testing"
	"time"
)

// BenchmarkNextOfDays has specs that robfig/cron cannot read.
func BenchmarkNextOfDays(b *testing.B) {
	for _, spec := range []string{"0 2 L * *", "0 2 15W * mon#1", "*/5 * LW * *", "0 0 0 29 2 mon#5 2027-2199"} {
		b.Run(spec, func(b *testing.B) {
			s := mustParse(b, spec, Options{Location: mustZone(b, "Europe/Paris")})
			start := instant(b, "2026-11-20T10:17:30Z")
			at := start
			b.ReportAllocs()
			for b.Loop() {
				if at = s.Next(at); at.IsZero() {
					at = start
				}
			}
		})
	}
}

// BenchmarkNextOfCompound has a calendar and two schedules.
func BenchmarkNextOfCompound(b *testing.B) {
	c := NewCalendar("holidays", nil)
	for _, days := range []string{"*-12-24..*-01-01", "*-05-01", "*-07-14", "2027-03-28", "2027-05-17"} {
		if err := c.Add(days); err != nil {
			b.Fatal(err)
		}
	}
	paris := mustZone(b, "Europe/Paris")
	daily, every := mustParse(b, "30 2 * * *", Options{Location: paris}), Every{Interval: time.Second}
	for name, s := range map[string]Schedule{"daily": daily, "every second": every, "both": Union(daily, every)} {
		b.Run(name, func(b *testing.B) {
			s, err := Exclude(s, paris, c)
			if err != nil {
				b.Fatal(err)
			}
			if s, err = Between(s, instant(b, "2026-01-01T00:00:00Z"), time.Time{}); err != nil {
				b.Fatal(err)
			}
			at := instant(b, "2026-12-23T10:17:30Z")
			b.ReportAllocs()
			for b.Loop() {
				at = s.Next(at)
			}
		})
	}
}

// BenchmarkNext compares Next with robfig/cron's own in the same zone.
func BenchmarkNext(b *testing.B) {
	for _, zone := range []string{"UTC", "Europe/Paris"} {
		loc := mustZone(b, zone)
		for _, spec := range []string{"*/5 * * * *", "30 2 * * *", "0 0 29 2 *"} {
			z := mustParse(b, spec, Options{Location: loc}).(*zoned)
			robfig := z.spec.spec
			robfig.Location = loc
			schedules := []struct {
				name string
				s    Schedule
			}{{"quorate", z}, {"robfig", &robfig}}
			for _, s := range schedules {
				b.Run(zone+"/"+spec+"/"+s.name, func(b *testing.B) {
					start := instant(b, "2026-11-20T10:17:30Z")
					at := start
					for b.Loop() {
						if at = s.s.Next(at); at.Sub(start) > 100*365*24*time.Hour {
							at = start
						}
					}
				})
			}
		}
	}
}

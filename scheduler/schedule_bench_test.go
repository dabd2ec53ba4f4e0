package scheduler

import (
	"testing"
	"time"
)

// BenchmarkNext compares Next with robfig/cron's own in the same zone.
func BenchmarkNext(b *testing.B) {
	for _, zone := range []string{"UTC", "Europe/Paris"} {
		loc := mustZone(b, zone)
		for _, spec := range []string{"*/5 * * * *", "30 2 * * *", "0 0 29 2 *"} {
			z := mustParse(b, spec, ScheduleOptions{Location: loc}).(*zoned)
			robfig := *z.spec.spec
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

package schedule

import (
	"slices"
	"testing"
	"time"
)

// TestChangesOfTheClocksInFourPlaces has what docs/policies.md says of spring
// and autumn: in Paris an hour at night, in Beirut at midnight, on Lord Howe
// half an hour, in Santiago at midnight in the south, where the seasons are the
// other way round. Jobs with a fixed time run once that day, whether it is left
// out or comes twice, unless the policy says otherwise; jobs every hour and
// @every go on in real time.
func TestChangesOfTheClocksInFourPlaces(t *testing.T) {
	t.Parallel()
	skip, both := DSTPolicy{Gap: DSTGapSkip}, DSTPolicy{Overlap: DSTOverlapBoth}
	for _, tt := range []struct {
		zone, spec string
		dst        DSTPolicy
		from, to   string // local; to is left out
		want       []string
	}{
		// Paris: 02:00 to 03:00 is left out on 29 March, and comes twice on 25 October.
		{"Europe/Paris", "30 2 * * *", firstDefault, "2026-03-29", "2026-03-30", []string{"29 03:00 CEST"}},
		{"Europe/Paris", "30 2 * * *", skip, "2026-03-29", "2026-03-30", nil},
		{"Europe/Paris", "@every 40m", firstDefault, "2026-03-29T01:00", "2026-03-29T04:00", []string{"29 01:00 CET", "29 01:40 CET", "29 03:20 CEST"}},
		{"Europe/Paris", "30 2 * * *", firstDefault, "2026-10-25", "2026-10-26", []string{"25 02:30 CEST"}},
		{"Europe/Paris", "30 2 * * *", both, "2026-10-25", "2026-10-26", []string{"25 02:30 CEST", "25 02:30 CET"}},
		{"Europe/Paris", "@every 40m", firstDefault, "2026-10-25T01:30", "2026-10-25T03:30", []string{"25 02:00 CEST", "25 02:40 CEST", "25 02:20 CET", "25 03:00 CET"}},

		// Beirut: 00:00 to 01:00 is left out on 29 March; 23:00 to 24:00 comes twice on 24 October.
		{"Asia/Beirut", "0 0 * * *", firstDefault, "2026-03-28T12:00", "2026-03-29T12:00", []string{"29 01:00 EEST"}},
		{"Asia/Beirut", "0 0 * * *", skip, "2026-03-28T12:00", "2026-03-29T12:00", nil},
		{"Asia/Beirut", "0 0 * * sunL", firstDefault, "2026-03-28T12:00", "2026-03-29T12:00", []string{"29 01:00 EEST"}},
		{"Asia/Beirut", "@every 45m", firstDefault, "2026-03-28T23:00", "2026-03-29T02:00", []string{"28 23:00 EET", "28 23:45 EET", "29 01:30 EEST"}},
		{"Asia/Beirut", "30 23 * * *", firstDefault, "2026-10-24T12:00", "2026-10-25T12:00", []string{"24 23:30 EEST"}},
		{"Asia/Beirut", "30 23 * * *", both, "2026-10-24T12:00", "2026-10-25T12:00", []string{"24 23:30 EEST", "24 23:30 EET"}},
		{"Asia/Beirut", "0 0 * * *", both, "2026-10-24T12:00", "2026-10-25T12:00", []string{"25 00:00 EET"}},
		{"Asia/Beirut", "@every 45m", firstDefault, "2026-10-24T22:50", "2026-10-25T00:30", []string{"24 23:15 EEST", "24 23:00 EET", "24 23:45 EET"}},

		// Lord Howe: 02:00 to 02:30 is left out on 4 October; 01:30 to 02:00 comes twice on 5 April.
		{"Australia/Lord_Howe", "15 2 * * *", firstDefault, "2026-10-04", "2026-10-05", []string{"04 02:30 +11"}},
		{"Australia/Lord_Howe", "15 2 * * *", skip, "2026-10-04", "2026-10-05", nil},
		{"Australia/Lord_Howe", "45 2 * * *", firstDefault, "2026-10-04", "2026-10-05", []string{"04 02:45 +11"}},
		{"Australia/Lord_Howe", "@every 30m", firstDefault, "2026-10-04T01:30", "2026-10-04T03:30", []string{"04 01:30 +1030", "04 02:30 +11", "04 03:00 +11"}},
		{"Australia/Lord_Howe", "45 1 * * *", firstDefault, "2026-04-05", "2026-04-06", []string{"05 01:45 +11"}},
		{"Australia/Lord_Howe", "45 1 * * *", both, "2026-04-05", "2026-04-06", []string{"05 01:45 +11", "05 01:45 +1030"}},
		{"Australia/Lord_Howe", "@every 30m", firstDefault, "2026-04-05T01:00", "2026-04-05T02:30", []string{"05 01:00 +11", "05 01:30 +11", "05 01:30 +1030", "05 02:00 +1030"}},

		// Santiago: 00:00 to 01:00 is left out on 6 September; 23:00 to 24:00 comes twice on 4 April.
		{"America/Santiago", "0 0 * * *", firstDefault, "2026-09-05T12:00", "2026-09-06T12:00", []string{"06 01:00 -03"}},
		{"America/Santiago", "0 0 * * *", skip, "2026-09-05T12:00", "2026-09-06T12:00", nil},
		{"America/Santiago", "@every 1h", firstDefault, "2026-09-05T23:00", "2026-09-06T02:30", []string{"05 23:00 -04", "06 01:00 -03", "06 02:00 -03"}},
		{"America/Santiago", "30 23 * * *", firstDefault, "2026-04-04T12:00", "2026-04-05T12:00", []string{"04 23:30 -03"}},
		{"America/Santiago", "30 23 * * *", both, "2026-04-04T12:00", "2026-04-05T12:00", []string{"04 23:30 -03", "04 23:30 -04"}},
		{"America/Santiago", "@every 1h", firstDefault, "2026-04-04T22:30", "2026-04-05T00:30", []string{"04 23:00 -03", "04 23:00 -04", "05 00:00 -04"}},
	} {
		t.Run(tt.zone+" "+tt.spec+" "+tt.from, func(t *testing.T) {
			t.Parallel()
			loc := mustZone(t, tt.zone)
			s := mustParse(t, tt.spec, Options{Location: loc, DST: tt.dst})
			to := localTime(t, tt.to, loc)
			var got []string
			for at := s.Next(localTime(t, tt.from, loc).Add(-time.Nanosecond)); at.Before(to); at = s.Next(at) {
				got = append(got, at.In(loc).Format("02 15:04 MST"))
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}

package schedule_test

import (
	"fmt"
	"log"
	"time"

	"github.com/quorate/quorate/scheduler/schedule"
)

// A program says in Go what a job in a file can say by a list of schedules, timezone, dst, exclude,
// starts_at and ends_at. The result is for the field Schedule of a jobs.Job.
func Example() {
	paris, err := schedule.LoadZone("Europe/Paris")
	if err != nil {
		log.Fatal(err)
	}
	var both []schedule.Schedule
	for _, spec := range []string{"30 2 * * sun", "0 18 * * fri"} {
		one, err := schedule.Parse(spec, schedule.Options{Location: paris, DST: schedule.DSTPolicy{Gap: schedule.DSTGapSkip}, Name: "report"})
		if err != nil {
			log.Fatal(err)
		}
		both = append(both, one)
	}
	holidays := schedule.NewCalendar("holidays", nil)
	if err := holidays.Add("2027-03-26"); err != nil {
		log.Fatal(err)
	}
	report, err := schedule.Exclude(schedule.Union(both...), paris, holidays)
	if err != nil {
		log.Fatal(err)
	}
	report, err = schedule.Between(report, time.Date(2027, 3, 20, 0, 0, 0, 0, time.UTC), time.Date(2027, 4, 3, 0, 0, 0, 0, time.UTC))
	if err != nil {
		log.Fatal(err)
	}
	for tick := report.Next(time.Time{}); !tick.IsZero(); tick = report.Next(tick) {
		fmt.Println(tick.In(paris).Format("Mon 2006-01-02 15:04"))
	}
	// On Friday 26 March is a holiday, and on Sunday 28 March the clocks skip 02:30.

	// Output:
	// Sun 2027-03-21 02:30
	// Fri 2027-04-02 18:00
}

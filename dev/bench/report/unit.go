package report

import (
	"fmt"
	"math"
	"time"
)

// A Unit says how numbers are written.
type Unit int

// Units.
const (
	PerSecond Unit = iota
	Seconds        // written as ms or µs where these read better
	Commands
	Ticks
	Wins
	Bytes
	Percent
)

// Format writes a number with its unit.
func (u Unit) Format(v float64) string {
	if math.IsNaN(v) {
		return "–"
	}
	switch u {
	case PerSecond:
		return thousands(v) + "/s"
	case Seconds:
		return duration(v)
	case Commands:
		return fmt.Sprintf("%.1f", v)
	case Bytes:
		return thousands(v) + " B"
	case Percent:
		return fmt.Sprintf("%.1f %%", v)
	}
	return thousands(v)
}

func duration(seconds float64) string {
	d := time.Duration(seconds * float64(time.Second))
	switch {
	case d < 10*time.Microsecond:
		return fmt.Sprintf("%.2f µs", seconds*1e6)
	case d < time.Millisecond:
		return fmt.Sprintf("%.0f µs", seconds*1e6)
	case d < time.Second:
		return fmt.Sprintf("%.2f ms", seconds*1e3)
	}
	return fmt.Sprintf("%.2f s", seconds)
}

// thousands writes a number without fraction, its digits in groups.
func thousands(v float64) string {
	digits := fmt.Sprintf("%.0f", v)
	for at := len(digits) - 3; at > 0; at -= 3 {
		digits = digits[:at] + "," + digits[at:]
	}
	return digits
}

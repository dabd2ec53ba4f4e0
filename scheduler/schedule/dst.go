package schedule

import "fmt"

// DSTGap is the policy for ticks whose wall-clock time is skipped when the clocks go
// forward.
type DSTGap string

// The policies for a gap.
const (
	// DSTGapRunAfter ticks at the first instant after the gap: once for all ticks in the
	// gap and a regular tick at that instant.
	DSTGapRunAfter DSTGap = "run_after"
	// DSTGapSkip drops them.
	DSTGapSkip DSTGap = "skip"
)

// Values returns the policies, the default first.
func (DSTGap) Values() []string { return []string{string(DSTGapRunAfter), string(DSTGapSkip)} }

// DSTOverlap is the policy for ticks whose wall-clock time comes twice when the clocks go
// back.
type DSTOverlap string

// The policies for an overlap.
const (
	// DSTOverlapFirst ticks at the first of the two.
	DSTOverlapFirst DSTOverlap = "first"
	// DSTOverlapBoth ticks at both.
	DSTOverlapBoth DSTOverlap = "both"
)

// Values returns the policies, the default first.
func (DSTOverlap) Values() []string { return []string{string(DSTOverlapFirst), string(DSTOverlapBoth)} }

// A DSTPolicy says what happens to the ticks of a cron spec when the zone's wall clock
// jumps. It applies to specs that name hours ("30 2 * * *", but also "0 */2 * * *"): they
// tick as often on the day of a change as on any other.
//
// It does not apply to specs with all 24 hours ("*/10 * * * *"): they tick whenever the
// wall clock shows a matching time, so they never pause for the repeated hour. Specs that
// match the same wall-clock times behave the same, however they are written.
//
// It is the section dst of a job in a configuration file, too.
type DSTPolicy struct {
	// Gap is by default DSTGapRunAfter.
	Gap DSTGap `json:"gap,omitempty" jsonschema:"For a time that the clock jumps over. run_after: the tick comes right after the gap; skip: there is none that day."`
	// Overlap is by default DSTOverlapFirst.
	Overlap DSTOverlap `json:"overlap,omitempty" jsonschema:"For a time that the clock shows twice. first: the tick comes the first time; both: it comes both times."`
}

// WithDefaults returns a copy with defaults for the empty fields.
func (p DSTPolicy) WithDefaults() DSTPolicy {
	if p.Gap == "" {
		p.Gap = DSTGapRunAfter
	}
	if p.Overlap == "" {
		p.Overlap = DSTOverlapFirst
	}
	return p
}

// Validate reports an unknown policy. Empty fields are valid.
func (p DSTPolicy) Validate() error {
	p = p.WithDefaults()
	if p.Gap != DSTGapRunAfter && p.Gap != DSTGapSkip {
		return fmt.Errorf("dst gap %q is unknown: write %s or %s", p.Gap, DSTGapRunAfter, DSTGapSkip)
	}
	if p.Overlap != DSTOverlapFirst && p.Overlap != DSTOverlapBoth {
		return fmt.Errorf("dst overlap %q is unknown: write %s or %s", p.Overlap, DSTOverlapFirst, DSTOverlapBoth)
	}
	return nil
}

package schedule

import "fmt"

// DSTGap says what becomes of ticks whose wall-clock time is left out when the
// clocks go forward.
type DSTGap string

// The policies for a gap.
const (
	// DSTGapRunAfter ticks at the first instant after the gap: once, however
	// many ticks fell into it, and together with a regular tick at that instant.
	DSTGapRunAfter DSTGap = "run_after"
	// DSTGapSkip drops them.
	DSTGapSkip DSTGap = "skip"
)

// DSTOverlap says what becomes of ticks whose wall-clock time comes twice when
// the clocks go back.
type DSTOverlap string

// The policies for an overlap.
const (
	// DSTOverlapFirst ticks at the first of the two.
	DSTOverlapFirst DSTOverlap = "first"
	// DSTOverlapBoth ticks at both.
	DSTOverlapBoth DSTOverlap = "both"
)

// A DSTPolicy says what becomes of the ticks of a cron spec when the zone's
// wall clock jumps. It is for specs that name hours ("30 2 * * *", but also
// "0 */2 * * *"): they tick as often on the day of a change as on any other.
//
// Specs whose hour field takes all 24 hours ("*/10 * * * *") need no policy
// and none applies: they tick whenever the wall clock shows a matching time,
// so they neither tick more when the clocks go forward nor fall silent for the
// repeated hour when they go back. Two specs that match the same wall-clock
// times behave the same, however they are written.
type DSTPolicy struct {
	Gap     DSTGap     // default DSTGapRunAfter
	Overlap DSTOverlap // default DSTOverlapFirst
}

// WithDefaults returns a copy with the empty fields filled in.
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

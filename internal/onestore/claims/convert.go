package claims

import (
	"github.com/quorate/quorate/internal/onestore/records"
	"github.com/quorate/quorate/internal/rules"
)

// asRule returns a stored claim as rules see it. Its note is the holder.
func asRule(c records.Claim) rules.Claim {
	r := rules.Claim{
		Tick: c.Tick, Token: c.Token, Owner: c.Owner, Attempt: c.Attempt, Note: c.Holder,
		Overlaps: c.Overlaps, Void: c.Void, Ended: rules.Code(c.Ended), Handed: c.Handed,
	}
	if c.Rerun {
		r.Mode = rules.AtLeastOnce
	}
	return r
}

// asRecord is the inverse of asRule.
func asRecord(stream string, c rules.Claim) records.Claim {
	return records.Claim{
		Stream: stream, Tick: c.Tick, Token: c.Token, Owner: c.Owner, Attempt: c.Attempt, Holder: c.Note,
		Rerun: c.Mode == rules.AtLeastOnce, Overlaps: c.Overlaps, Void: c.Void, Ended: string(c.Ended), Handed: c.Handed,
	}
}

// kindOf is the kind of the entry of a run whose FINISH was answered so.
func kindOf(ended rules.Code) records.Kind {
	switch ended {
	case rules.OK:
		return records.Finished
	case rules.RanOut:
		return records.RanOut
	}
	return records.Late
}

// codeOf is the inverse of kindOf.
func codeOf(k records.Kind) rules.Code {
	switch k {
	case records.Finished:
		return rules.OK
	case records.RanOut:
		return rules.RanOut
	}
	return rules.Late
}

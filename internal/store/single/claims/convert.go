package claims

import (
	"github.com/quorate/quorate/internal/store/protocol"
	"github.com/quorate/quorate/internal/store/single/records"
)

// asRule returns a stored claim as rules see it. Its note is the holder.
func asRule(c records.Claim) protocol.Claim {
	r := protocol.Claim{
		Tick: c.Tick, Token: c.Token, Owner: c.Owner, Attempt: c.Attempt, Note: c.Holder,
		Overlaps: c.Overlaps, Void: c.Void, Ended: protocol.Code(c.Ended), Handed: c.Handed,
	}
	if c.Rerun {
		r.Mode = protocol.AtLeastOnce
	}
	return r
}

// asRecord is the inverse of asRule.
func asRecord(stream string, c protocol.Claim) records.Claim {
	return records.Claim{
		Stream: stream, Tick: c.Tick, Token: c.Token, Owner: c.Owner, Attempt: c.Attempt, Holder: c.Note,
		Rerun: c.Mode == protocol.AtLeastOnce, Overlaps: c.Overlaps, Void: c.Void, Ended: string(c.Ended), Handed: c.Handed,
	}
}

// kindOf is the kind of the entry of a run whose FINISH was answered so.
func kindOf(ended protocol.Code) records.Kind {
	switch ended {
	case protocol.OK:
		return records.Finished
	case protocol.RanOut:
		return records.RanOut
	}
	return records.Late
}

// codeOf is the inverse of kindOf.
func codeOf(k records.Kind) protocol.Code {
	switch k {
	case records.Finished:
		return protocol.OK
	case records.RanOut:
		return protocol.RanOut
	}
	return protocol.Late
}

package ledger

import "time"

// runID is the id of the run of a scheduled tick. It is deterministic, so a half-done run
// can be identified. In other streams use Entry.ID.
func runID(job string, tick time.Time) string {
	var space [128]byte
	return string(appendStamp(append(append(space[:0], job...), '@'), tick))
}

// appendStamp appends t.UTC().Format("20060102T150405.000Z"), but much faster: every run
// has an id.
func appendStamp(b []byte, t time.Time) []byte {
	t = t.UTC()
	year, month, day := t.Date()
	hour, minute, second := t.Clock()
	if year < 0 || year > 9999 {
		return t.AppendFormat(b, "20060102T150405.000Z")
	}
	b = appendDigits(b, 10*1000*year+100*int(month)+day, 8)
	b = append(b, 'T')
	b = appendDigits(b, 10*1000*hour+100*minute+second, 6)
	b = append(b, '.')
	b = appendDigits(b, t.Nanosecond()/int(time.Millisecond), 3)
	return append(b, 'Z')
}

// appendDigits appends n with zeros in front.
func appendDigits(b []byte, n, digits int) []byte {
	for range digits {
		b = append(b, '0')
	}
	for i := len(b) - 1; n > 0; i-- {
		b[i] = byte('0' + n%10)
		n /= 10
	}
	return b
}

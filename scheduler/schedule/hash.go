package schedule

import (
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"strings"
)

var errNoHashName = errors.New("the value of H comes from the job's name, which is not known here: give it (explain --job NAME), or write a value")

// isHash reports whether a part of a field is H or H(a-b).
func isHash(text string) bool {
	return strings.EqualFold(text, "H") || len(text) > 1 && strings.EqualFold(text[:2], "H(")
}

// hashRange reads the values from which H is chosen.
func (k fieldKind) hashRange(text, name string) (span, error) {
	if name == "" {
		return span{}, errNoHashName
	}
	s := span{lo: k.min, hi: k.hashMax, step: 1}
	if len(text) == 1 {
		return s, nil
	}
	inner, closed := strings.CutSuffix(text[2:], ")")
	if !closed || !strings.Contains(inner, "-") {
		return span{}, fmt.Errorf("%q is not a valid range: write H(%d-%d)", text, k.min, k.hashMax)
	}
	return k.valueOrRange(inner, false)
}

// hash chooses by the name: one value of the range or, with a step, the start within the
// first step.
func (k fieldKind) hash(s span, name string, stepped bool) span {
	choices := s.hi - s.lo + 1
	if stepped {
		choices = s.step
	}
	s.lo += int(nameHash(name, k.name) % uint64(choices))
	if !stepped {
		s.lo = k.wrap(s.lo)
		s.hi = s.lo
	}
	return s
}

// nameHash differs between fields, so a job at minute 17 need not be the one at hour 17. It
// must never change: jobs would move.
func nameHash(name, field string) uint64 {
	h := fnv.New64a()
	_, _ = io.WriteString(h, field+"\x00"+name) // a hash never fails
	x := h.Sum64()                              // FNV hardly moves the high bits for names that differ at their end
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd // MurmurHash3's 64-bit finaliser
	x ^= x >> 33
	x *= 0xc4ceb9fe1a85ec53
	return x ^ x>>33
}

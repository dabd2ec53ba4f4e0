package ledger

import "github.com/quorate/quorate/locking"

// A reasonNote is the stored form of a Reason.
type reasonNote struct {
	Code    Code          `json:"c"`
	Variant Variant       `json:"v,omitempty"`
	Holder  string        `json:"h,omitempty"`
	Tick    int64         `json:"t,omitempty"` // Unix milliseconds, as all times
	Since   int64         `json:"s,omitempty"`
	Until   int64         `json:"u,omitempty"`
	By      string        `json:"b,omitempty"`
	Of      string        `json:"o,omitempty"`
	N       int           `json:"n,omitempty"`
	Most    int           `json:"m,omitempty"`
	Token   locking.Token `json:"k,omitempty"`
	Seen    locking.Token `json:"seen,omitempty"`
	Text    string        `json:"x,omitempty"`
	With    *reasonNote   `json:"w,omitempty"`
}

// Limits of a stored reason: the number of further reasons, and the bytes of the first and
// of other texts.
const (
	mostReasons   = 8
	maxReasonText = 1 << 10
)

func newReasonNote(r Reason, most, text int) *reasonNote {
	if r.IsZero() || most == 0 {
		return nil
	}
	n := &reasonNote{Code: r.Code, Variant: r.Variant}
	if d := r.Details; d != nil {
		n.Holder, n.By, n.Of = clipTo(d.Holder, maxReasonText), clipTo(d.By, maxReasonText), clipTo(d.Of, maxReasonText)
		n.Tick, n.Since, n.Until = millis(d.Tick), millis(d.Since), millis(d.Until)
		n.N, n.Most, n.Token, n.Seen = d.N, d.Most, d.Token, d.Seen
		n.Text = clipTo(d.Text, text)
		if d.With != nil {
			n.With = newReasonNote(*d.With, most-1, maxReasonText)
		}
	}
	return n
}

func (n *reasonNote) reason() Reason {
	if n == nil {
		return Reason{}
	}
	d := Details{
		Holder: n.Holder, By: n.By, Of: n.Of, N: n.N, Most: n.Most, Token: n.Token, Seen: n.Seen, Text: n.Text,
		Tick: fromMillis(n.Tick), Since: fromMillis(n.Since), Until: fromMillis(n.Until),
	}
	if n.With != nil {
		with := n.With.reason()
		d.With = &with
	}
	r := Reason{Code: n.Code, Variant: n.Variant}
	if d != (Details{}) {
		r.Details = &d
	}
	return r
}

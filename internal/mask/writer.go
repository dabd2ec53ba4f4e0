package mask

import "io"

// leastBegun is how many bytes of a secret are hidden at the end of a text that may have been
// cut.
const leastBegun = 4

// A Writer masks a text that arrives in pieces, and passes it on. It keeps back what may be
// the beginning of a secret until it knows more.
type Writer struct {
	mask   *Mask
	to     io.Writer
	kept   []byte
	hidden int // how much of the beginning of kept has been passed on as stars
}

// Writer returns a Writer to the given one. Close it at the end of the text.
func (m *Mask) Writer(to io.Writer) *Writer { return &Writer{mask: m, to: to} }

// Write masks what is known to be no beginning of a secret.
func (w *Writer) Write(text []byte) (int, error) {
	if w.mask == nil {
		return w.to.Write(text)
	}
	w.kept = append(w.kept, text...)
	if err := w.pass(w.mask.begun(w.kept)); err != nil {
		return 0, err
	}
	return len(text), nil
}

// Close passes on what was kept. What may be the beginning of a secret is hidden: the text may
// have been cut there.
func (w *Writer) Close() error {
	if w.mask == nil {
		return nil
	}
	if err := w.pass(w.mask.begun(w.kept)); err != nil {
		return err
	}
	rest := w.kept[w.hidden:]
	if len(rest) > 0 && len(w.kept) >= leastBegun {
		rest = []byte(stars)
	}
	_, err := w.to.Write(rest)
	return err
}

// pass passes on what was kept until the given byte.
func (w *Writer) pass(until int) error {
	var masked []byte
	at := w.hidden
	for _, found := range w.mask.find(w.kept) {
		if found.from >= until {
			break
		}
		if found.from >= at {
			masked = append(append(masked, w.kept[at:found.from]...), stars...)
		}
		at = max(at, found.to)
	}
	if at < until {
		masked = append(masked, w.kept[at:until]...)
		at = until
	}
	w.kept, w.hidden = append(w.kept[:0], w.kept[until:]...), at-until
	_, err := w.to.Write(masked)
	return err
}

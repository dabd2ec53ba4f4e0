package kv

import (
	"cmp"
	"fmt"
	"strings"
)

// Compare orders points as stores order their keys.
func (p Point) Compare(q Point) int {
	return cmp.Or(strings.Compare(p.Name, q.Name), strings.Compare(p.Sub, q.Sub))
}

func (k Key) String() string {
	text := string(k.Kind) + " " + k.Name
	if k.Sub != "" {
		text += " " + k.Sub
	}
	return text
}

// Check reports what is wrong with t, nil for nothing. Every Store calls it first.
func (t Txn) Check(l Limits) error {
	bytes, seen := 0, map[Key]bool{}
	change := func(k Key) error {
		if seen[k] {
			return fmt.Errorf("a transaction changes %s twice", k)
		}
		seen[k] = true
		return k.check()
	}
	for _, w := range t.Put {
		bytes += len(w.Value)
		if err := change(w.Key); err != nil {
			return err
		}
	}
	for _, k := range t.Delete {
		if err := change(k); err != nil {
			return err
		}
	}
	for _, c := range t.If {
		if err := c.Key.check(); err != nil {
			return err
		}
	}
	if keys := len(t.If) + len(seen); keys > l.Keys || bytes > l.Bytes {
		return fmt.Errorf("%w: %d keys and %d bytes, at most %d and %d", ErrTooLarge, keys, bytes, l.Keys, l.Bytes)
	}
	return nil
}

func (k Key) check() error {
	if k.Kind == "" || strings.ContainsRune(k.Name+k.Sub, 0) {
		return fmt.Errorf("%q is no key: it has no kind, or a zero byte", k.String())
	}
	return nil
}

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// A plant is a bug to be planted.
type plant struct {
	name    string
	promise string // what it breaks, in a sentence
	edits   []edit
	pkg     string   // where the tests are
	tests   []string // at least one of them must fail
	args    []string // what the test binary is given
	says    string   // with a message of its own that has this text; if empty, any
}

// An edit replaces a text that stands exactly once in a file.
type edit struct{ file, old, new string }

// errStale is what a plant that fits the code no more fails with.
var errStale = errors.New("the plant no longer applies")

// sow makes the edits of p in the module at dir, all or none. It returns what
// takes them back.
func (p plant) sow(dir string) (restore func() error, err error) {
	before := map[string]string{}
	after := map[string]string{}
	for _, e := range p.edits {
		text, ok := after[e.file]
		if !ok {
			content, err := os.ReadFile(filepath.Join(dir, e.file))
			if err != nil {
				return nil, fmt.Errorf("%w: %w", errStale, err)
			}
			text = string(content)
			before[e.file] = text
		}
		if n := strings.Count(text, e.old); n != 1 {
			return nil, fmt.Errorf("%w: %s has %d times, not once: %s", errStale, e.file, n, e.old)
		}
		after[e.file] = strings.Replace(text, e.old, e.new, 1)
	}
	restore = func() error { return write(dir, before) }
	return restore, write(dir, after)
}

// write writes files, given as text by name.
func write(dir string, files map[string]string) error {
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

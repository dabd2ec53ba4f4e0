package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// A promise is what users rely on, and the plants that break it.
type promise struct {
	page   string // of docs, that describes it
	text   string
	plants []plant
}

// A plant is a bug to be planted. Those in a rule of the protocol begin with its name.
type plant struct {
	name  string
	by    tests // what must catch it
	edits []edit
}

// An edit replaces a text that stands exactly once in a file.
type edit struct{ file, old, new string }

// Tests are tests of one package, at least one of which must fail.
type tests struct {
	pkg   string
	names []string
	args  []string // what the test binary is given
	says  string   // the failure has a message with this text; if empty, any message
}

func in(pkg string, names ...string) tests { return tests{pkg: pkg, names: names} }

func (t tests) with(args ...string) tests {
	t.args = args
	return t
}

func (t tests) saying(text string) tests {
	t.says = text
	return t
}

// errStale is the error of a plant that does not fit the code any more.
var errStale = errors.New("the plant no longer applies")

// sow makes all edits of p in the module at dir, or none. It returns a
// function that takes them back.
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

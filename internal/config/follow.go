package config

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/quorate/quorate/internal/decode"
	"github.com/quorate/quorate/internal/refs"
	"github.com/quorate/quorate/jobs"
)

// settle is how long a file that changed must stay the same before it is read:
// editors write in several steps.
const settle = 300 * time.Millisecond

// Changed reports whether contents is another than last, and has stopped changing. It
// goes by the content: a Kubernetes ConfigMap is a link to a directory that is
// replaced, and times and sizes may stay as they were.
func Changed(ctx context.Context, last string, contents func() string) bool {
	now := contents()
	if now == last {
		return false
	}
	for {
		select {
		case <-ctx.Done():
			return false
		case <-time.After(settle):
		}
		again := contents()
		if again == now {
			return now != last
		}
		now = again
	}
}

// Sum is a hash of what the files of the configuration held when it was read; "" for one
// made in code.
func (c *Config) Sum() string {
	if c.origin == nil {
		return ""
	}
	return TextSum(c.origin.text) + c.origin.referenced + calendarSums(c)
}

// SumNow is a hash of what the file of the source holds now, with the calendars and the files
// that c refers to, or of why it cannot be read.
func (c *Config) SumNow(source Source) string {
	text, err := os.ReadFile(source.withDefaults().Path)
	if err != nil {
		return err.Error()
	}
	return TextSum(text) + sumsOf(c.origin.files) + calendarSums(c)
}

// Referenced is a hash of what the files held that c refers to, when it was read.
func (c *Config) Referenced() string { return c.origin.referenced }

// filesIn lists the files that a configuration refers to: by ${file:…}, and those of TLS.
func filesIn(tree map[string]any) (files []string) {
	for p, text := range decode.Texts(tree, nil) {
		if slices.Contains([]string{"ca_file", "cert_file", "key_file"}, p[len(p)-1]) {
			files = append(files, text)
		}
		for _, ref := range refs.In(text) {
			if ref.Kind == "file" {
				files = append(files, ref.Name)
			}
		}
	}
	return files
}

// sumsOf has a hash of each file, or why it cannot be read.
func sumsOf(files []string) string {
	var sums strings.Builder
	for _, file := range files {
		text, err := os.ReadFile(file)
		fmt.Fprint(&sums, " ", TextSum(text), err)
	}
	return sums.String()
}

// CutOff reports whether the file of c looks like that of before while it is being written: it is
// shorter and lacks the last entry of that one, or it is its beginning, or its last line does not
// end and that of the other did.
func (c *Config) CutOff(before *Config) bool {
	if c.origin == nil || before.origin == nil {
		return false
	}
	now, was := c.origin.text, before.origin.text
	last := before.origin.last()
	_, _, found := find(c.origin.root, last)
	return len(now) < len(was) && (found < len(last) || bytes.HasPrefix(was, now)) ||
		bytes.HasSuffix(was, []byte("\n")) && !bytes.HasSuffix(now, []byte("\n"))
}

func calendarSums(c *Config) string {
	var sums strings.Builder
	for _, name := range slices.Sorted(maps.Keys(c.Calendars)) {
		if file := c.Calendars[name].ICS; file != "" {
			text, err := c.origin.read(file)
			fmt.Fprint(&sums, " ", TextSum([]byte(text)), err)
		}
	}
	return sums.String()
}

// TextSum is a hash of a text.
func TextSum(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// WithJobs returns c with the jobs of a configuration that was read later, and all that
// a replica takes in without a restart. What cannot change may forbid what the file
// allows with its other settings.
func (c *Config) WithJobs(read *Config, registry *jobs.Registry) (*Config, error) {
	next := *c
	next.Jobs, next.Defaults, next.Calendars = read.Jobs, read.Defaults, read.Calendars
	next.Scheduler.Timezone = read.Scheduler.Timezone
	next.origin, next.outdated = read.origin, NeedRestart(c, read)
	ps := &problems{origin: read.origin}
	next.checkValues(ps, path{"jobs"}, reflect.ValueOf(next.Jobs))
	next.builder(ps, registry).check()
	return &next, ps.err()
}

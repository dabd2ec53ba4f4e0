package schedule

import (
	"fmt"
	"strings"
	"time"
)

// A word is a part of a spec between blanks.
type word struct {
	text string
	pos  int // byte offset in the spec
}

// splitWords returns the words before a comment, which begins with a word that begins with #, as in
// YAML.
func splitWords(spec string) []word {
	var words []word
	end := 0
	for text := range strings.FieldsSeq(spec) {
		if text[0] == '#' {
			break
		}
		pos := end + strings.Index(spec[end:], text)
		words = append(words, word{text, pos})
		end = pos + len(text)
	}
	return words
}

// A specParser reads one spec; words are those not yet consumed.
type specParser struct {
	spec  string
	words []word
	name  string // of the job, for H
}

func (p *specParser) fail(pos int, format string, args ...any) error {
	return &SpecError{Spec: p.spec, Pos: pos, Msg: fmt.Sprintf(format, args...)}
}

// takeZone consumes a leading CRON_TZ=zone or TZ=zone; without one it returns nil.
func (p *specParser) takeZone() (*time.Location, error) {
	if len(p.words) == 0 {
		return nil, nil
	}
	w := p.words[0]
	key, name, found := strings.Cut(w.text, "=")
	if !found || (key != "CRON_TZ" && key != "TZ") {
		return nil, nil
	}
	p.words = p.words[1:]
	zone, err := LoadZone(name)
	if err != nil {
		return nil, p.fail(w.pos, "has a bad prefix: %v", err)
	}
	return zone, nil
}

// descriptors are the fields of words with an @.
var descriptors = map[string]string{
	"@yearly":   "0 0 1 1 *",
	"@annually": "0 0 1 1 *",
	"@monthly":  "0 0 1 * *",
	"@weekly":   "0 0 * * 0",
	"@daily":    "0 0 * * *",
	"@midnight": "0 0 * * *",
	"@hourly":   "0 * * * *",
}

// noCommand is said of what stands behind a schedule in a crontab.
const noCommand = "remove it; a command belongs in the params of a job"

func (p *specParser) descriptor(opts Options) (Schedule, error) {
	w := p.words[0]
	fields, ok := descriptors[w.text]
	if !ok {
		return nil, p.fail(w.pos, "has an unknown word %s: write @hourly, @daily, @midnight, @weekly, @monthly, @yearly, @annually, @every DURATION or @at TIME", w.text)
	}
	if len(p.words) > 1 {
		return nil, p.fail(p.words[1].pos, "has %q after %s: %s", p.words[1].text, w.text, noCommand)
	}
	return (&specParser{spec: fields, words: splitWords(fields), name: p.name}).cron(opts)
}

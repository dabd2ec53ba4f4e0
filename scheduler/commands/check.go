package commands

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/quorate/quorate/internal/plainjson"
	"github.com/quorate/quorate/scheduler/ledger"
)

// An Error is the error for an invalid command.
type Error struct {
	Kind Kind
	Msg  string
}

// Error is the message after the kind.
func (e *Error) Error() string { return string(e.Kind) + ": " + e.Msg }

// Limits of Command.Within.
const (
	minWithin = time.Second
	maxWithin = 30 * 24 * time.Hour
)

// Ready returns a with defaults for all fields except At, as a Store keeps it, or an
// *Error. It is for implementations.
func (a Command) Ready() (Command, error) {
	if a.ID == "" {
		a.ID = rand.Text()
	}
	a.Within = cmp.Or(a.Within, DefaultWithin(a.Kind))
	if a.Kind == Trigger {
		a.Trigger = cmp.Or(a.Trigger, ledger.ByManual)
	}
	if a.Kind == Backfill {
		a.Concurrency = cmp.Or(a.Concurrency, 1)
	}
	a.Result, a.Closed = "", time.Time{}
	if msg := a.wrong(); msg != "" {
		return Command{}, &Error{Kind: a.Kind, Msg: msg}
	}
	if len(a.Params) > 0 {
		a.Params, _ = plainjson.Marshal(a.Params) // one form for equal values; it is valid
	}
	return a, nil
}

// IDs that callers choose, and those of requests that runs make for the jobs that follow.
var (
	commandIDPattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:@+-]{0,249}$`)
	chainIDPattern   = regexp.MustCompile(`^\+[0-9a-f]{32}$`)
)

// wrong says what is wrong with a, "" if nothing.
func (a Command) wrong() string {
	switch {
	case DefaultWithin(a.Kind) == 0 && a.Kind != Pause && a.Kind != Resume:
		return "no such kind of command"
	case !commandIDPattern.MatchString(a.ID) && (a.Trigger != ledger.ByChain || !chainIDPattern.MatchString(a.ID)):
		return fmt.Sprintf("id %q: use up to 250 letters, digits and . _ : @ + -", a.ID)
	case max(len(a.Job), len(a.Tag), len(a.Run), len(a.Parent)) > MaxName:
		return fmt.Sprintf("names of jobs, tags and runs may have %d bytes", MaxName)
	case !isText([]byte(strings.Join([]string{a.Job, a.Tag, a.Run, a.Parent, a.By, a.Reason}, " "))):
		return "names, author and reason must be UTF-8, without the character U+0000"
	case len(a.By) > MaxText || len(a.Reason) > MaxText:
		return fmt.Sprintf("author and reason may have %d bytes each", MaxText)
	case a.Kind.Request():
		return a.wrongRequest()
	}
	return a.wrongPause()
}

func (a Command) wrongRequest() string {
	switch {
	case a.Job == "" || a.Tag != "" || a.All:
		return "name one job"
	case a.Within < minWithin || a.Within > maxWithin:
		return fmt.Sprintf("within %v: write %v to %v", a.Within, minWithin, maxWithin)
	case a.Kind == Cancel && a.Run == "":
		return "name the run to cancel"
	case a.Kind == Backfill && !a.From.Before(a.To):
		return fmt.Sprintf("from %s to %s: the end must come after the start", a.From.UTC().Format(time.RFC3339Nano), a.To.UTC().Format(time.RFC3339Nano))
	case a.Kind == Backfill && (a.Concurrency < 1 || a.Concurrency > MaxConcurrency):
		return fmt.Sprintf("concurrency %d: write 1 to %d", a.Concurrency, MaxConcurrency)
	case a.Kind != Backfill && a.Concurrency != 0:
		return "only a backfill has a concurrency"
	case a.Kind != Trigger && len(a.Params) > 0:
		return "only a trigger takes params"
	case !a.Until.IsZero():
		return "only a pause has an end"
	}
	return wrongParams(a.Params)
}

func wrongParams(params json.RawMessage) string {
	var object map[string]any
	switch {
	case len(params) == 0:
		return ""
	case len(params) > MaxParams:
		return fmt.Sprintf("the params have %d bytes: %d are allowed", len(params), MaxParams)
	case json.Unmarshal(params, &object) != nil || object == nil:
		return "the params are no JSON object"
	case deeper(object, maxDepth):
		return fmt.Sprintf("the params are nested more than %d deep", maxDepth)
	case !isText(params) || slices.ContainsFunc(escapes.FindAll(params, -1), badEscapes.Match):
		return "the params have the character U+0000, half a surrogate pair, or bytes that are not UTF-8"
	}
	return ""
}

// maxDepth bounds how deep values of the params may be.
const maxDepth = 32

// deeper reports whether a decoded JSON value has others so many levels below it.
func deeper(v any, than int) bool {
	var parts []any
	switch v := v.(type) {
	case map[string]any:
		parts = slices.Collect(maps.Values(v))
	case []any:
		parts = v
	}
	return len(parts) > 0 && (than == 0 || slices.ContainsFunc(parts, func(part any) bool { return deeper(part, than-1) }))
}

// Escapes in JSON, pairs of surrogates as one; and those that stand for no text.
var (
	escapes    = regexp.MustCompile(`\\(?:u[dD][89abAB]..\\u[dD][c-fC-F]..|u....|[^u])`)
	badEscapes = regexp.MustCompile(`^\\u(?:0000|[dD][89a-fA-F]..)$`)
)

// isText reports whether every store can keep it: PostgreSQL has no U+0000 in texts.
func isText(text []byte) bool { return utf8.Valid(text) && !bytes.Contains(text, []byte{0}) }

func (a Command) wrongPause() string {
	targets := 0
	for _, named := range []bool{a.Job != "", a.Tag != "", a.All} {
		if named {
			targets++
		}
	}
	switch {
	case targets != 1:
		return "name one job, one tag, or all jobs"
	case a.Kind == Pause && a.Tag != "" && !ValidTag(a.Tag):
		return fmt.Sprintf("%q is not a tag; use up to 100 letters, digits and . _ -, starting with a letter or digit", a.Tag)
	case a.Kind == Resume && (a.Within != 0 || !a.Until.IsZero()):
		return "only a pause has an end"
	case a.Within != 0 && !a.Until.IsZero():
		return "write until when or for how long, not both"
	case a.Within != 0 && (a.Within < minWithin || a.Within > MaxPause):
		return fmt.Sprintf("for %v: write 1s to ten years, or leave it out", a.Within)
	case a.Kind == Pause && (a.Reason == "" || a.By == ""):
		return "say why, and who you are: every skipped tick will carry it"
	}
	return ""
}

var tagPattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$`)

// ValidTag reports whether text is a valid tag of jobs.
func ValidTag(text string) bool { return tagPattern.MatchString(text) }

// TooMany is the error for a command beyond the limit of its kind. It is for implementations.
func TooMany(k Kind, most int) error {
	if k == Pause {
		return &Error{Kind: Pause, Msg: fmt.Sprintf(
			"%d pauses stand already: end some, which quorate pauses lists, or pause by a tag", most)}
	}
	return &Error{Kind: k, Msg: fmt.Sprintf(
		"%d requests are open already: wait until some are done, or see what holds them up with quorate audit", most)}
}

// DecodeParams reads a JSON object; whole numbers keep all their digits.
func DecodeParams(text json.RawMessage) (map[string]any, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var params map[string]any
	if err := d.Decode(&params); err != nil {
		return nil, fmt.Errorf("decoding the params: %w", err)
	}
	return numbers(params).(map[string]any), nil
}

// numbers replaces the numbers in v by int64 or float64.
func numbers(v any) any {
	switch v := v.(type) {
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n
		}
		f, _ := v.Float64() // the decoder has checked it
		return f
	case map[string]any:
		for k := range v {
			v[k] = numbers(v[k])
		}
	case []any:
		for i := range v {
			v[i] = numbers(v[i])
		}
	}
	return v
}

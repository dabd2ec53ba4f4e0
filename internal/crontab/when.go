package crontab

import (
	"errors"
	"regexp"
	"strconv"
	"strings"

	"github.com/quorate/quorate/scheduler/schedule"
)

// A when is the schedule of a line. Package schedule reads it; what this package checks is
// where cron differs from that.
type when struct {
	words []string // five, or one that begins with @
	at    []int    // where they begin
}

func (c *cursor) when() when {
	var w when
	for n := 5; len(w.words) < n; {
		word, at := c.word()
		if w.words, w.at = append(w.words, word), append(w.at, at); strings.HasPrefix(word, "@") {
			n = 1
		}
	}
	return w
}

func (w when) spec() string { return strings.Join(w.words, " ") }

// Words that cron knows; package schedule knows more.
var (
	nickname = regexp.MustCompile(`^@(yearly|annually|monthly|weekly|daily|midnight|hourly)$`)
	entry    = regexp.MustCompile(`^(?:\*(?:/\d+)?|(\d+|[A-Za-z]{3})(?:-(\d+|[A-Za-z]{3})(?:/\d+)?)?)$`)
	loneStep = regexp.MustCompile(`^(\d+)/\d+$`)
)

// check refuses what some cron cannot read, or reads in another way than package schedule.
func (w when) check(r *reader) bool {
	wrong := len(r.wrong)
	for i, word := range w.words {
		if len(w.words) == 1 {
			if !nickname.MatchString(word) {
				r.refuse(w.at[i], "cron knows no %s: write @yearly, @monthly, @weekly, @daily or @hourly, or five fields", word)
			}
			break
		}
		for e := range strings.SplitSeq(word, ",") {
			m := entry.FindStringSubmatch(e)
			switch {
			case word == "":
				r.refuse(w.at[i], "the line ends after %d of 5 fields: write minute, hour, day of month, month, day of week and a command", i)
				return false
			case loneStep.MatchString(e):
				r.refuse(w.at[i], "crons disagree on %q: write a range with the step, or the number alone", e)
			case m == nil:
				r.refuse(w.at[i], "not every cron reads %q: write a number, a name, a range a-b, a-b/n, * or */n", e)
			case m[2] != "" && cronValue(m[1]) > cronValue(m[2]):
				r.refuse(w.at[i], "not every cron reads %q: the range runs backwards; write two ranges with a comma", e)
			}
		}
	}
	if len(r.wrong) > wrong {
		return false
	}
	w.parse(r)
	return len(r.wrong) == wrong
}

// parse reports what package schedule refuses.
func (w when) parse(r *reader) {
	_, err := schedule.Parse(w.spec(), schedule.Options{})
	known, ok := errors.AsType[*schedule.SpecError](err)
	if !ok {
		return
	}
	field := strings.Count(w.spec()[:known.Pos], " ")
	r.refuse(w.at[field], "%s", known.Msg)
}

// cronValue is the number of a name; Sunday is 0.
func cronValue(text string) int {
	if n, err := strconv.Atoi(text); err == nil {
		return n
	}
	name := strings.ToLower(text)
	if i := strings.Index("janfebmaraprmayjunjulaugsepoctnovdec", name); i >= 0 {
		return i/3 + 1
	}
	return strings.Index("sunmontuewedthufrisat", name) / 3
}

// everything reports whether a field has all its values, and is a star for Quorate.
func everything(field string) bool { return field == "*" || field == "*/1" }

// needsBothDays reports whether cron wants both day fields to match while Quorate takes
// either. To cron a field is restricted unless it begins with a star; to Quorate also with
// a step after the star.
func (w when) needsBothDays() bool {
	if len(w.words) == 1 {
		return false
	}
	dom, dow := w.words[2], w.words[4]
	return (strings.HasPrefix(dom, "*") || strings.HasPrefix(dow, "*")) && !everything(dom) && !everything(dow)
}

// followsClock reports whether cron follows the wall clock when it jumps: it does with a
// star in the minute or the hour. Quorate does so by itself if the schedule has all hours.
func (w when) followsClock() bool {
	return len(w.words) > 1 && !everything(w.words[1]) &&
		(strings.HasPrefix(w.words[0], "*") || strings.HasPrefix(w.words[1], "*"))
}

// keepsHours reports whether the schedule has all hours, but not as a star, so that cron
// makes up for those that the clock leaves out and Quorate does not.
func (w when) keepsHours() bool {
	return len(w.words) > 1 && strings.HasPrefix(w.words[1], "0-23") && !w.followsClock()
}

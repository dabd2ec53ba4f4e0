package listing

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/quorate/quorate/scheduler"
)

// JobSetText writes a set of jobs like the configuration, sorted by job key, with the
// effective value of each setting.
func JobSetText(set scheduler.JobSet) string {
	var lines []string
	for _, j := range set.Jobs {
		lines = append(lines, jobLines(j)...)
	}
	return strings.Join(lines, "\n")
}

// jobLines writes one job. Its version differs even if only a hidden secret does.
func jobLines(j scheduler.JobText) []string {
	lines := []string{plain(j.Name) + ":", "  version: " + plain(j.Hash)}
	settings, ok := j.Settings.(map[string]any)
	if !ok {
		return lines
	}
	return appendMap(lines, "  ", settings)
}

func appendMap(lines []string, indent string, m map[string]any) []string {
	for _, key := range slices.Sorted(maps.Keys(m)) {
		lines = appendValue(lines, indent, plain(key)+":", m[key])
	}
	return lines
}

// appendValue writes a value after the text before it on its line.
func appendValue(lines []string, indent, before string, v any) []string {
	switch v := v.(type) {
	case map[string]any:
		if len(v) > 0 {
			return appendMap(append(lines, indent+before), indent+"  ", v)
		}
	case []any:
		if len(v) > 0 {
			lines = append(lines, indent+before)
			for _, item := range v {
				lines = appendValue(lines, indent+"  ", "-", item)
			}
			return lines
		}
	case string:
		if block, mark := blockOf(v); mark != "" {
			lines = append(lines, indent+before+" "+mark)
			for _, line := range block {
				lines = append(lines, indent+"  "+line)
			}
			return lines
		}
	}
	return append(lines, indent+before+" "+scalar(v))
}

// blockOf returns the lines of a multi-line text and its YAML block mark; "" for texts
// that fit one line better.
func blockOf(text string) (lines []string, mark string) {
	body, ended := strings.CutSuffix(text, "\n")
	if !strings.Contains(body, "\n") || strings.HasSuffix(body, "\n") || strings.HasPrefix(body, " ") || !printable(body) {
		return nil, ""
	}
	if mark = "|-"; ended {
		mark = "|"
	}
	return strings.Split(body, "\n"), mark
}

func printable(text string) bool {
	return !strings.ContainsFunc(text, func(c rune) bool { return c != '\n' && c != '\t' && !unicode.IsPrint(c) })
}

// scalar writes a value on one line.
func scalar(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case string:
		return plain(v)
	case json.Number, bool:
		return fmt.Sprint(v)
	}
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(text)
}

// bare matches texts that need no quotes, unless plain finds another meaning.
var bare = regexp.MustCompile(`^-{0,2}[A-Za-z0-9/_$]([A-Za-z0-9 _./*,+=@$()?&%~:;-]*[A-Za-z0-9_./*+=)])?$`)

// plain writes a text, quoted if YAML would read it as another value.
func plain(text string) string {
	_, notNumber := strconv.ParseFloat(text, 64)
	switch {
	case !bare.MatchString(text), strings.Contains(text, ": "), notNumber == nil:
		return strconv.Quote(text)
	case slices.Contains([]string{"true", "false", "null", "yes", "no", "on", "off"}, strings.ToLower(text)):
		return strconv.Quote(text)
	}
	return text
}

package config

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/quorate/quorate/internal/refs"
)

// hasReference reports whether text may be another text when it is used.
func hasReference(text string) bool { return len(refs.In(text)) > 0 }

// Expand returns text with its references replaced by their values. The error names what is
// missing and shows no content.
func Expand(text string) (string, error) {
	out, _, err := refs.Expand(text, value)
	return out, err
}

// expandSetting is Expand for a setting: it refuses what is empty, which would silently stand for
// the default.
func expandSetting(text string) (string, error) {
	out, err := Expand(text)
	if err == nil && out == "" && text != "" {
		return "", fmt.Errorf("%s is empty; give it a value, or remove the setting for its default", text)
	}
	return out, err
}

// value returns what one reference stands for.
func value(reference string) (string, error) { return refs.In(reference)[0].Value() }

// A markedText is a text with a number in place of each reference, so that it can be
// parsed as a URL: digits fit everywhere, also where a port is.
type markedText struct {
	text   string
	prefix string      // that the numbers begin with, and nothing else in the text
	refs   []refs.Part // by number
}

// markDigits is how many digits of a number follow the prefix.
const markDigits = 6

// escapedDigit is a digit as a URL may have it.
var escapedDigit = regexp.MustCompile(`%3([0-9])`)

func markReferences(text string) markedText {
	m := markedText{prefix: "59"}
	for plain := escapedDigit.ReplaceAllString(text, "$1"); strings.Contains(plain, m.prefix); {
		m.prefix += "0"
	}
	parts, err := refs.Split(text)
	if err != nil {
		m.text = text
	}
	for _, p := range parts {
		if p.Kind == "" {
			m.text += p.Text
			continue
		}
		m.refs = append(m.refs, p)
		m.text += m.number(len(m.refs) - 1)
	}
	return m
}

func (m markedText) number(i int) string { return fmt.Sprintf("%s%0*d", m.prefix, markDigits, i) }

// shown is a part of the text as it was before its references were marked.
func (m markedText) shown(part string) string {
	return m.fill(part, func(literal string) string { return literal })
}

// hidden is the references in a part of the text, and stars for all else.
func (m markedText) hidden(part string) string {
	return m.fill(part, func(literal string) string {
		if literal == "" {
			return ""
		}
		return hidden
	})
}

// fill puts the references back into a part of the text, and what write makes of each
// literal beside them.
func (m markedText) fill(part string, write func(literal string) string) string {
	var text strings.Builder
	for {
		literal, rest, found := strings.Cut(part, m.prefix)
		text.WriteString(write(literal))
		if !found {
			return text.String()
		}
		i, _ := strconv.Atoi(rest[:markDigits])
		text.WriteString(m.refs[i].Text)
		part = rest[markDigits:]
	}
}

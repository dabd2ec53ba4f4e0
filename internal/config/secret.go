package config

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
)

// reference matches ${env:NAME} and ${file:/path}. Every other ${…} is plain
// text: shells in commands use it too.
var reference = regexp.MustCompile(`\$\{(env|file):([^}]*)\}`)

// hasReference reports whether text may be another text when it is used.
func hasReference(text string) bool { return reference.MatchString(text) }

// Expand returns text with its references replaced: ${env:NAME} by the value
// of an environment variable, ${file:/path} by what the file holds less its
// last line break. The error names what is missing and shows no content.
func Expand(text string) (string, error) {
	var firstErr error
	out := reference.ReplaceAllStringFunc(text, func(ref string) string {
		m := reference.FindStringSubmatch(ref)
		value, err := lookUp(m[1], m[2])
		if firstErr == nil {
			firstErr = err
		}
		return value
	})
	if firstErr != nil {
		return "", firstErr
	}
	return out, nil
}

func lookUp(kind, name string) (string, error) {
	if kind == "env" {
		value, ok := os.LookupEnv(name)
		if !ok {
			return "", fmt.Errorf("${env:%s}: the environment variable is not set; set it, or change the reference", name)
		}
		return value, nil
	}
	content, err := os.ReadFile(name)
	if err != nil {
		return "", fmt.Errorf("${file:%s}: %w; create the file, or change the reference", name, err)
	}
	return strings.TrimSuffix(strings.TrimSuffix(string(content), "\n"), "\r"), nil
}

// A markedText is a text with a number in place of each reference, so that it can be
// parsed as a URL: digits fit everywhere, also where a port is.
type markedText struct {
	text   string
	prefix string   // that the numbers begin with, and nothing else in the text
	refs   []string // by number
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
	m.text = reference.ReplaceAllStringFunc(text, func(ref string) string {
		m.refs = append(m.refs, ref)
		return m.number(len(m.refs) - 1)
	})
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
		text.WriteString(m.refs[i])
		part = rest[markDigits:]
	}
}

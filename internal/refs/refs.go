// Package refs reads the references in the texts of a configuration:
//
//	${env:NAME}          a variable of the environment
//	${file:/path}        what a file holds, less its last line break
//	${plain:env:NAME}    the same, and no secret; likewise ${plain:file:/path}
//	$${env:NAME}         no reference: the text ${env:NAME}; likewise for the others
//
// All else is text. That includes what shells write for variables that are called env and
// file, such as ${env}, ${file:-default} and ${file:0:3}.
package refs

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
)

// A Part is a part of a text: a reference or, with an empty Kind, other text.
type Part struct {
	Text  string // a reference as it is written; other text without the marks of escapes
	Kind  string // "env" or "file"
	Name  string // of the variable or file
	Plain bool   // the value is no secret
}

var (
	// An escape; or what shells write, with another text or a position behind the colon; or
	// a reference.
	pattern = regexp.MustCompile(`\$(\$\{(?:plain:)?(?:env|file):)|\$\{(?:env|file):(?:[-+=?0-9(]| +[-0-9(])|\$\{(plain:)?(env|file):([^}]*)\}`)
	opening = regexp.MustCompile(`\$\{(?:plain:)?(?:env|file):`)
	envName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.-]*$`)
)

// Split takes text apart. It returns an error for what looks like a reference and is none.
func Split(text string) ([]Part, error) {
	var parts []Part
	literal, at := "", 0
	for _, m := range pattern.FindAllStringSubmatchIndex(text, -1) {
		found := text[m[0]:m[1]]
		switch {
		case m[2] >= 0:
			literal, at = literal+text[at:m[0]]+found[1:], m[1]
			continue
		case m[6] < 0:
			continue
		}
		part := Part{Text: found, Kind: text[m[6]:m[7]], Name: text[m[8]:m[9]], Plain: m[4] >= 0}
		if part.Name == "" || strings.Contains(part.Name, "$") || part.Kind == "env" && !envName.MatchString(part.Name) {
			return nil, fmt.Errorf("%s is no reference; write ${env:NAME} or ${file:/path}, or $%s for that text", found, found)
		}
		if literal += text[at:m[0]]; literal != "" {
			parts = append(parts, Part{Text: literal})
		}
		parts = append(parts, part)
		literal, at = "", m[1]
	}
	if literal += text[at:]; literal != "" {
		parts = append(parts, Part{Text: literal})
	}
	return parts, nil
}

// Escape returns the text for which Expand returns the given one.
func Escape(text string) string { return opening.ReplaceAllString(text, "$$$0") }

// In returns the references in text; none if it has a mistake.
func In(text string) []Part {
	parts, _ := Split(text)
	return slices.DeleteFunc(parts, func(p Part) bool { return p.Kind == "" })
}

// Expand returns text with the values of its references, as resolve returns them, and those
// values that are secrets.
func Expand(text string, resolve func(reference string) (string, error)) (expanded string, secrets []string, err error) {
	parts, err := Split(text)
	if err != nil {
		return "", nil, err
	}
	var b strings.Builder
	for _, p := range parts {
		value := p.Text
		if p.Kind != "" {
			if value, err = resolve(p.Text); err != nil {
				return "", nil, err
			}
			if !p.Plain {
				secrets = append(secrets, value)
			}
		}
		b.WriteString(value)
	}
	return b.String(), secrets, nil
}

// Resolve returns text with the values that its references have now. The error names what is
// missing and shows no content.
func Resolve(text string) (string, error) {
	out, _, err := Expand(text, func(reference string) (string, error) { return In(reference)[0].Value() })
	return out, err
}

// Value returns what a reference stands for. The error names what is missing and shows no
// content.
func (p Part) Value() (string, error) {
	if p.Kind == "env" {
		value, ok := os.LookupEnv(p.Name)
		if !ok {
			return "", fmt.Errorf("%s: the environment variable is not set; set it, or change the reference", p.Text)
		}
		return value, nil
	}
	content, err := os.ReadFile(p.Name)
	if err != nil {
		return "", fmt.Errorf("%s: %w; create the file, or change the reference", p.Text, err)
	}
	return strings.TrimSuffix(strings.TrimSuffix(string(content), "\n"), "\r"), nil
}

package replica

import (
	"fmt"
	"os"
	"regexp"
	"strings"
)

// reference matches ${env:NAME} and ${file:/path}. Every other ${…} is plain
// text: shells in commands use it too.
var reference = regexp.MustCompile(`\$\{(env|file):([^}]*)\}`)

// hasReference tells whether text may be another text when it is used.
func hasReference(text string) bool { return reference.MatchString(text) }

// expand returns text with its references replaced: ${env:NAME} by the value
// of an environment variable, ${file:/path} by what the file holds less its
// last line break. The error names what is missing and shows no content.
func expand(text string) (string, error) {
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

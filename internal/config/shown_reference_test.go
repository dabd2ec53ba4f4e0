package config

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/quorate/quorate/internal/refs"
	"github.com/quorate/quorate/replica/settings"
)

// A text with a reference is hidden as any other, but for the reference.
func TestShownSecretBesideAReference(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		text       string
		open, late string // as it is shown where no secret is expected, and where one may be
	}{
		{"${env:A}", "${env:A}", "${env:A}"},
		{"${env:A} ${env:B}", "${env:A} ${env:B}", "${env:A} ${env:B}"},
		{"Bearer hunter2${env:A}", "Bearer hunter2${env:A}", "***${env:A}"},
		{"pre-hunter2-${env:A}${file:/b}-x", "pre-hunter2-${env:A}${file:/b}-x", "***${env:A}${file:/b}***"},
		{"https://ann:hunter2@${env:A}/x", "https://ann:***@${env:A}/x", "https://ann:***@${env:A}/***"},
		{"https://ann:hunter2${env:A}@h:${env:B}/x${env:C}?k=hunter2${env:D}", "https://ann:***${env:A}@h:${env:B}/x${env:C}?***${env:D}", "https://ann:***${env:A}@h:${env:B}/***${env:C}?***${env:D}"},
		{"redis://${env:A}:${env:B}@${env:C}:${env:D}", "redis://${env:A}:${env:B}@${env:C}:${env:D}", "redis://${env:A}:${env:B}@${env:C}:${env:D}"},
		{"https://hunter2${env:A}@h", "https://hunter2${env:A}@h", "https://***${env:A}@h"},
		{"https://${env:A}:590@h:590000000/%35%39000000${env:B}", "https://${env:A}:***@h:590000000/%35%39000000${env:B}", "https://${env:A}:***@h:590000000/***${env:B}"},
		{"https://ann:%35%39000000@${env:A}", "https://ann:***@${env:A}", "https://ann:***@${env:A}"},
		// What does not parse as a URL, but is written as one that may have a password.
		{"${env:A}://ann:hunter2@h/x", "${env:A}***", "${env:A}***"},
		{"https://ann:hunter2@[${env:A}/x", "***${env:A}***", "***${env:A}***"},
		{"postgres://ann:hunter2%@h", "***", "***"},
		{" https://ann:hunter 2@h", "***", "***"},
		{"http://localhost:$PORT/${env:A}", "http://localhost:$PORT/${env:A}", "***${env:A}"},
	} {
		if got := refs.Hide(tc.text, false); got != tc.open {
			t.Errorf("%s is shown as %s, want %s", tc.text, got, tc.open)
		}
		if got := refs.Hide(tc.text, true); got != tc.late {
			t.Errorf("%s, which may be a secret, is shown as %s, want %s", tc.text, got, tc.late)
		}
	}
	const secret = "hunter2hunter2"
	cfg := Default()
	cfg.Jobs = map[string]JobConfig{"b": {Func: "http", Schedule: Specs{"@daily"}, Params: map[string]any{
		"url": "https://ann:" + secret + "@${env:APIHOST}/x", "headers": map[string]any{"Authorization": "Bearer " + secret + "${env:SUFFIX}"},
	}}}
	cfg.Redis.Password = "pre-" + secret + "-${env:X}"
	cfg.Redis.Nodes = []settings.Node{{URL: "redis://user:" + secret + "@${env:HOST}"}}
	for _, shown := range []any{cfg.Shown(), (&builder{cfg: cfg}).shown("b")} {
		one, err := json.Marshal(shown)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(one), secret) {
			t.Errorf("a secret is shown: %s", one)
		}
	}
}

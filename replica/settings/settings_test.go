package settings_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/quorate/quorate/replica/settings"
)

// A secret is hidden however a section is written; what tells no secret stays.
func TestSecretsHideThemselves(t *testing.T) {
	t.Parallel()
	const secret = "hunter2"
	section := settings.Redis{
		Nodes: settings.Nodes("redis://ann:" + secret + "@10.0.0.1:6379"), Username: secret, Password: secret, URL: "redis://b:${env:PASSWORD}@h",
	}
	hook := settings.Webhook{Headers: map[string]settings.Secret{"Authorization": "Bearer " + secret}, Secret: secret}
	var log strings.Builder
	for _, handler := range []slog.Handler{slog.NewTextHandler(&log, nil), slog.NewJSONHandler(&log, nil)} {
		slog.New(handler).Info("x", "section", section, "hook", hook, "secret", section.Password)
	}
	written := []string{log.String()}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d", "%10.3s"} {
		written = append(written, fmt.Sprintf(verb, section), fmt.Sprintf(verb, hook), fmt.Sprintf(verb, section.Password))
	}
	for _, encode := range []func(any) ([]byte, error){json.Marshal, yaml.Marshal} {
		for _, v := range []any{section, hook, section.Password} {
			text, err := encode(v)
			if err != nil {
				t.Fatal(err)
			}
			written = append(written, string(text))
		}
	}
	for _, text := range written {
		if strings.Contains(text, secret) || strings.Contains(text, fmt.Sprintf("%x", secret)) {
			t.Errorf("a secret is shown: %s", text)
		}
	}
	if text := fmt.Sprint(section); !strings.Contains(text, "redis://ann:***@10.0.0.1:6379") || !strings.Contains(text, "redis://b:${env:PASSWORD}@h") {
		t.Errorf("shown are %s", text)
	}
}

// A secret is what its references stand for now.
func TestResolve(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "password")
	secret := settings.Secret("a ${file:" + file + "}")
	for _, content := range []string{"first", "second"} {
		if err := os.WriteFile(file, []byte(content+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := secret.Resolve(); err != nil || got != "a "+content {
			t.Errorf("got %q, %v", got, err)
		}
	}
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[settings.Secret]string{
		settings.Secret("${file:" + file + "}"): "is empty; give it a value",
		"${file:/missing/file}":                 "${file:/missing/file}: open /missing/file",
		"${env:}":                               "is no reference",
	} {
		if got, err := text.Resolve(); got != "" || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s becomes %q, %v", text, got, err)
		}
	}
}

package config

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/quorate/quorate/internal/console/gate"
	"github.com/quorate/quorate/replica/settings"
	"github.com/quorate/quorate/scheduler/identity"
)

// What is shown of a configuration has no secrets.
func TestShownHasNoSecrets(t *testing.T) {
	t.Parallel()
	cfg := Default()
	cfg.Redis.Nodes = []settings.Node{{URL: "redis://me:hunter2@10.0.0.1:6379"}, {Name: "b", URL: "${env:URL_OF_B}"}}
	cfg.Redis.Password = "hunter2"
	cfg.HTTP.Users = map[string]settings.User{"ann": {Role: "admin", Password: "hunter2", Token: "hunter2"}}
	cfg.Webhooks = []settings.Webhook{{URL: "https://hooks.example.com/hunter2?x=hunter2", Headers: map[string]settings.Secret{"X-Key": "hunter2"}}}
	cfg.Jobs = map[string]JobConfig{"a": {Func: "http", Schedule: Specs{"@daily"}, Params: map[string]any{
		"url": "https://u:hunter2@example.com/a?t=hunter2", "headers": map[string]any{"Authorization": "Bearer hunter2"},
		"db_password": "hunter2", "list": []any{"x", 1.5, nil, true}, "token": "${file:/run/token}",
	}}}
	text, err := json.Marshal(cfg.Shown())
	if err != nil {
		t.Fatal(err)
	}
	set, err := json.Marshal((&builder{cfg: cfg}).shown("a"))
	if err != nil {
		t.Fatal(err)
	}
	if text = append(text, set...); strings.Contains(string(text), "hunter2") {
		t.Errorf("a secret is shown: %s", text)
	}
	for _, want := range []string{`"redis://me:***@10.0.0.1:6379"`, `"${env:URL_OF_B}"`, `"https://hooks.example.com/***?***"`, `"${file:/run/token}"`, `"ttl":"15s"`, `"https://u:***@example.com/a?***"`} {
		if !strings.Contains(string(text), want) {
			t.Errorf("%s is not shown: %s", want, text)
		}
	}
}

func TestUsers(t *testing.T) {
	t.Parallel()
	_, kept := gate.NewToken()
	cfg := Default()
	cfg.HTTP.Users = map[string]settings.User{"bob": {Token: settings.Secret(kept)}}
	for text, want := range map[string]string{
		"":                               "",
		"ann: {role: admin}":             "",
		"bob: {role: admin}":             "is under http.users, too",
		"ann: {role: king}":              "is not a role",
		"ann: {rule: admin}":             "write name: {role: viewer",
		"ann: {token: secret}":           "quorate users token",
		"ann: {token: \"${env:NO_XY}\"}": "NO_XY",
		"[1]":                            "write name: {role: viewer",
	} {
		cfg.HTTP.UsersFile = filepath.Join(t.TempDir(), "users.yaml")
		if err := os.WriteFile(cfg.HTTP.UsersFile, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		users, err := cfg.Users()
		switch {
		case want == "" && (err != nil || users[len(users)-1].Name != "bob" || users[len(users)-1].Role != identity.Viewer):
			t.Errorf("%q: %+v, %v", text, users, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

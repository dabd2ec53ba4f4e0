package config

import (
	"encoding/json"
	"strings"
	"testing"
)

// The values of env and headers are hidden unless their name is known to be harmless,
// and so are params that are named as secrets are.
func TestShownEnvAndHeaders(t *testing.T) {
	t.Parallel()
	const secret = "hunter2hunter2"
	cfg := Default()
	env := map[string]any{
		"TZ": "Europe/Paris", "PATH": "/opt/bin:/usr/bin", "LANG": "C.UTF-8", "LOG_LEVEL": "debug", "HOME": "/srv",
		"REFERRED": "${env:REFERRED}", "EMPTY": "",
	}
	for _, name := range []string{"MYSQL_PWD", "PGPASS", "ENCRYPTION_KEY", "SSH_PRIVATE_KEY", "SIGNING_KEY", "DSN", "ANYTHING", "PORT_OF_ACME"} {
		env[name] = secret
	}
	env["DATABASE_URL"] = "postgres://" + secret + "@db.example.com/" + secret + "?x=" + secret
	cfg.Jobs = map[string]JobConfig{"a": {Func: "exec", Schedule: Specs{"@daily"}, Params: map[string]any{
		"command": []any{"backup", "--all"}, "env": env,
	}}, "b": {Func: "http", Schedule: Specs{"@daily"}, Params: map[string]any{
		"url": "https://example.com", "headers": map[string]any{
			"Content-Type": "application/json", "accept": "text/plain", "User-Agent": "cron", "X-Hub": secret, "Cookie": secret, "X-Api-Key": secret,
		},
	}}, "c": {Func: "own", Schedule: Specs{"@daily"}, Params: map[string]any{
		"dsn": secret, "signing_key": secret, "db_pwd": secret, "pgpass": secret, "private": map[string]any{"key": secret},
		"keys": 3, "monkey": "banana", "customer": "acme", "env": "production", "nested": map[string]any{"env": map[string]any{"X": secret}},
	}}}
	var all strings.Builder
	for _, shown := range []any{cfg.Shown(), (&builder{cfg: cfg}).shown("a"), (&builder{cfg: cfg}).shown("b"), (&builder{cfg: cfg}).shown("c")} {
		one, err := json.Marshal(shown)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(one), secret) {
			t.Errorf("a secret is shown: %s", one)
		}
		all.Write(one)
	}
	text := all.String()
	for _, want := range []string{
		`"TZ":"Europe/Paris"`, `"PATH":"/opt/bin:/usr/bin"`, `"LANG":"C.UTF-8"`, `"LOG_LEVEL":"debug"`, `"HOME":"/srv"`, `"REFERRED":"${env:REFERRED}"`,
		`"Content-Type":"application/json"`, `"accept":"text/plain"`, `"User-Agent":"cron"`, `"ANYTHING":"***"`, `"command":["backup","--all"]`,
		`"monkey":"banana"`, `"customer":"acme"`, `"env":"production"`, `"keys":3`, `"DATABASE_URL":"postgres://***@db.example.com/***?***"`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%s is not shown: %s", want, text)
		}
	}
}

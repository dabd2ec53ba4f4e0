package cmd

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Where a reference stands for what its setting refuses, no command shows that: it names the reference.
func TestNoCommandShowsWhatAReferenceStandsFor(t *testing.T) {
	const redis = "redis: {nodes: [redis://127.0.0.1:1]}\n"
	for text, value := range map[string]string{
		`postgres: {url: "${env:T_CANARY}"}`:                                                                               "postgres://u:c4n4ry@h:c4n4ry/x",
		`postgres: {url: "${env:T_CANARY}" }`:                                                                              "host=c4n4ry password=c4n4ry",
		`postgres: {url: "${env:T_CANARY}"  }`:                                                                             "c4n4ry",
		`postgres: {url: "postgres://u@127.0.0.1/x?${env:T_CANARY}"}`:                                                      "connect_timeout=c4n4ry",
		`postgres: {url: "postgres://u@127.0.0.1/x?sslmode=${env:T_CANARY}"}`:                                              "c4n4ry",
		`redis: {nodes: ["${env:T_CANARY}"]}`:                                                                              "redis://u:c4n4ry@h:1:2",
		`redis: {nodes: ["${env:T_CANARY}"] }`:                                                                             "redis://h/c4n4ry",
		`mysql: {url: "${env:T_CANARY}"}`:                                                                                  "mysql://c4n4ry@h/c4n4ry",
		`sqlite: {path: "${env:T_CANARY}"}`:                                                                                "file:c4n4ry",
		`etcd: {endpoints: ["${env:T_CANARY}"]}`:                                                                           "https://u:c4n4ry@h:2379",
		`zookeeper: {servers: ["${env:T_CANARY}"]}`:                                                                        "c4n4ry/x",
		redis + `log: {level: "${env:T_CANARY}"}`:                                                                          "c4n4ry",
		redis + `lock: {ttl: "${env:T_CANARY}"}`:                                                                           "15c4n4ry",
		redis + `scheduler: {timezone: "${env:T_CANARY}"}`:                                                                 "Europe/c4n4ry",
		redis + `metrics: {max_jobs: "${env:T_CANARY}"}`:                                                                   "c4n4ry",
		redis + `http: {listen: "${env:T_CANARY}"}`:                                                                        "c4n4ry:x:y",
		redis + `http: {users: {ann: {role: viewer, token: "${env:T_CANARY}"}}}`:                                           "c4n4ry",
		redis + `webhooks: [{url: "${env:T_CANARY}", events: [failed]}]`:                                                   "ftp://c4n4ry",
		redis + `webhooks: [{url: "https://h", events: [failed], secret: "${env:T_CANARY}"}]`:                              "whsec_c4n4ry!",
		redis + `jobs: {a: {func: exec, schedule: "${env:T_CANARY}", params: {command: ["true"]}}}`:                        "0 c4n4ry * * *",
		redis + `jobs: {a: {func: http, schedule: "@daily", params: {url: "${env:T_CANARY}"}}}`:                            "ftp://c4n4ry",
		redis + `jobs: {a: {func: http, schedule: "@daily", params: {url: "http://h", expect_status: "${env:T_CANARY}"}}}`: "c4n4ry",
	} {
		t.Setenv("T_CANARY", value)
		file := filepath.Join(t.TempDir(), "config.yaml")
		if err := os.WriteFile(file, []byte(text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		named := false
		for _, command := range [][]string{{"validate"}, {"store", "check"}, {"nodes", "check"}, {"next"}, {"run"}} {
			var out bytes.Buffer
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second) // some replicas wait for a store
			app := App{Registry: builtins(), In: strings.NewReader(""), Out: &out, Err: &out}
			_ = app.Exec(ctx, append(command, "--config", file))
			cancel()
			if strings.Contains(strings.ToLower(out.String()), "c4n4ry") {
				t.Errorf("%s: %v shows %q: %s", text, command, value, out.String())
			}
			named = named || strings.Contains(out.String(), "${env:T_CANARY}") || strings.Contains(out.String(), "config.yaml:")
		}
		if !named {
			t.Errorf("%s: no command names it", text)
		}
	}
}

//go:build linux || darwin

package config

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/quorate/quorate/internal/refs"
	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/jobs/execjob"
)

// A command that inherits the environment gets no variable that resolves into a secret
// of the configuration, and nothing that it writes shows one.
func TestSecretsOfTheConfigurationDoNotReachJobs(t *testing.T) {
	file := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(file, []byte("key-in-a-file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	secret := map[string]string{
		"T_PASSWORD": "redis-password", "T_NODE_PASSWORD": "p%40ss%2Fof-a-node", "T_URL": "redis://me:within-a-url@127.0.0.1:3",
		"T_HOOK": "https://hooks.example.com/services/T000", "T_HOOK_PATH": "path-of-a-hook", "T_BEARER": "bearer-of-a-hook", "T_KEY": "whsec_the/key/of/the/first/of/two/hooks/in/a/testA",
	}
	public := map[string]string{"T_HOST": "127.0.0.1", "T_PORT": "1234", "T_USER": "quorate-user", "T_NAMESPACE": "namespace-1", "T_TYPE": "application/json", "T_OTHER": "of no matter"}
	for _, part := range []map[string]string{secret, public} {
		for name, value := range part {
			t.Setenv(name, value)
		}
	}
	registry := jobs.NewRegistry()
	execjob.Register(registry)
	cfg, err := Read(Source{Path: write(t, `
namespace: ${env:T_NAMESPACE}
redis:
  username: ${env:T_USER}
  password: ${env:T_PASSWORD}
  nodes: ["redis://${env:T_HOST}:${env:T_PORT}", "redis://${env:T_USER}:${env:T_NODE_PASSWORD}@127.0.0.1:2", "${env:T_URL}"]
webhooks:
  - {url: "${env:T_HOOK}", events: [failed], secret: "${env:T_KEY}", headers: {Authorization: "Bearer ${env:T_BEARER}", Content-Type: "${env:T_TYPE}", X-Key: "${file:`+file+`}"}}
  - {url: "https://${env:T_HOST}/${env:T_HOOK_PATH}", events: [failed], headers: {Authorization: "Bearer literal-token"}}
jobs:
  dump: {func: exec, schedule: "@daily", params: {inherit_env: true, command: [sh, -c, "env; echo said redis-password, within-a-url, key-in-a-file, literal-token, quorate-user, application/json, me, p@ss/of-a-node, p%40ss%2Fof-a-node"]}}
`), Environ: []string{}}, registry)
	if err != nil {
		t.Fatal(err)
	}
	list, err := cfg.JobList(registry)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := cfg.Withheld().Middleware(list[0].Handler)(t.Context(), jobs.Run{Job: "dump", Logger: slog.New(slog.NewTextHandler(&out, nil))}); err != nil {
		t.Fatal(err)
	}
	has := func(name string) bool {
		return strings.Contains(out.String(), `"`+name+"=") || strings.Contains(out.String(), "="+name+"=")
	}
	for name := range secret {
		if has(name) {
			t.Errorf("%s is inherited", name)
		}
	}
	for name := range public {
		if !has(name) {
			t.Errorf("%s is not inherited", name)
		}
	}
	if want := "said ***, ***, ***, ***, quorate-user, application/json, me, ***, ***"; !strings.Contains(out.String(), want) {
		at := max(0, strings.Index(out.String(), "said "))
		t.Errorf("the command wrote %q, want %q", out.String()[at:], want)
	}
}

// References in the parts of a URL that are no secret are told from the others.
func TestSecretReferences(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"${env:A}": "A", "redis://${env:A}:6379": "", "redis://h:${env:A}": "", "redis://u:${env:A}@${env:B}:${env:C}/0": "A",
		"redis://${env:A}:${env:B}@h": "B", "https://${env:A}@h/${env:B}?x=${env:C}": "A B C", "Bearer ${env:A}": "A", "plain": "",
	} {
		var names []string
		for _, ref := range refs.SecretRefs(text) {
			names = append(names, ref.Name)
		}
		slices.Sort(names)
		if got := strings.Join(names, " "); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

// A reference may say that it is no secret: its value is shown, and its variable inherited.
func TestPlainReferencesAreNoSecrets(t *testing.T) {
	t.Setenv("T_STAGE", "production")
	t.Setenv("T_TOKEN", "the-real-token")
	cfg, err := Read(Source{Path: write(t, `
redis: {nodes: [redis://h]}
webhooks:
  - {url: "https://h/${plain:env:T_STAGE}/${env:T_TOKEN}", events: [failed], headers: {X-Stage: "${plain:env:T_STAGE}", X-Other: "stage ${plain:env:T_STAGE}"}}
`), Environ: []string{}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	withheld := cfg.Withheld()
	if values := withheld.Values(); slices.Contains(values, "production") || !slices.Contains(values, "the-real-token") {
		t.Errorf("the secrets are %q", values)
	}
	if !slices.Equal(withheld.Variables, []string{"T_TOKEN"}) {
		t.Errorf("the variables with secrets are %q", withheld.Variables)
	}
}

package config

import (
	"strings"
	"testing"

	"github.com/quorate/quorate/internal/refs"
)

func TestExpand(t *testing.T) {
	t.Setenv("QUORATE_TEST_WORD", "pass")
	t.Setenv("QUORATE_TEST_EMPTY", "")
	file := write(t, "from file\r\n")
	for text, want := range map[string]string{
		"":                          "",
		"plain":                     "plain",
		"${env:QUORATE_TEST_WORD}":  "pass",
		"${env:QUORATE_TEST_EMPTY}": "",
		"${file:" + file + "}":      "from file",
		"redis://u:${env:QUORATE_TEST_WORD}@h/${env:QUORATE_TEST_WORD}": "redis://u:pass@h/pass",
		"echo ${HOME} $HOME ${env}":                                     "echo ${HOME} $HOME ${env}",
		"${env:QUORATE_TEST_MISSING}":                                   "error: ${env:QUORATE_TEST_MISSING}: the environment variable is not set",
		"${file:/missing/file}":                                         "error: ${file:/missing/file}: open /missing/file: no such file",
	} {
		got, err := refs.Resolve(text)
		if err != nil {
			got = "error: " + err.Error()
		}
		if got != want && (err == nil || !strings.HasPrefix(got, want)) {
			t.Errorf("Expand(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestReferencesOutsideSecretsAreReadAtOnce(t *testing.T) {
	t.Setenv("QUORATE_TEST_TTL", "5s")
	t.Setenv("QUORATE_TEST_DURABLE", "true")
	t.Setenv("QUORATE_TEST_START", "2027-01-01T01:00:00+01:00")
	cfg, err := Read(Source{Path: write(t, `
namespace: ${env:QUORATE_TEST_TTL}
redis: {nodes: [redis://h], durable: "${env:QUORATE_TEST_DURABLE}", password: "${env:QUORATE_TEST_MISSING}"}
lock: {ttl: "${env:QUORATE_TEST_TTL}"}
defaults: {starts_at: "${env:QUORATE_TEST_START}"}
`)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if cfg.Namespace != "5s" || !*cfg.Redis.Durable || cfg.Lock.TTL.String() != "5s" || cfg.Defaults.StartsAt.String() != "2027-01-01 00:00:00 +0000 UTC" {
		t.Errorf("got %+v", cfg)
	}
	if cfg.Redis.Password != "${env:QUORATE_TEST_MISSING}" {
		t.Errorf("the password was touched: %q", cfg.Redis.Password)
	}
}

func TestNodesNamesWhatItCannotRead(t *testing.T) {
	t.Parallel()
	file := write(t, `
redis:
  nodes: ["rediss://u:${env:QUORATE_TEST_MISSING}@h"]
  password: ${file:/missing/password}
  tls: {ca_file: /missing/ca.pem}
`)
	cfg, err := Read(Source{Path: file}, newRegistry(t))
	if err != nil {
		t.Fatalf("a check needs the secrets: %v", err)
	}
	_, err = cfg.Cluster()
	want := file + `:3:11: redis.nodes[0]: ${env:QUORATE_TEST_MISSING}: the environment variable is not set; set it, or change the reference
` + file + `:4:13: redis.password: ${file:/missing/password}: open /missing/password: no such file or directory; create the file, or change the reference
` + file + `:5:3: redis.tls: ca_file: open /missing/ca.pem: no such file or directory`
	if err == nil || err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
}

// What looks like a reference and is none is a mistake wherever it is written, also where
// references are resolved late; what shells write is text.
func TestReferencesAreCheckedWhereTheyAreWritten(t *testing.T) {
	t.Parallel()
	file := write(t, `
redis:
  nodes: ["redis://u:${env:}@h"]
  password: ${env:A:-b}
http:
  users: {a: {token: "${env:A B}"}}
webhooks:
  - {url: "https://h/${file:}", events: [failed], secret: "${env:${env:A}}", headers: {A: "${env:ü}"}}
jobs:
  report: {func: report, schedule: "@daily", description: "for ${env:-x}", params: {customer: "${env:}"}}
`)
	_, err := Read(Source{Path: file, Environ: []string{}}, newRegistry(t))
	for _, want := range []string{
		":3:11: redis.nodes[0]: ${env:} is no reference; write ${env:NAME} or ${file:/path}, or $${env:} for that text",
		":4:13: redis.password: ${env:A:-b} is no reference", ":6:22: http.users.a.token: ${env:A B} is no reference",
		": webhooks[0].url: ${file:} is no reference", ": webhooks[0].secret: ${env:${env:A} is no reference", ": webhooks[0].headers.A: ${env:ü} is no reference",
		": jobs.report.params.customer: ${env:} is no reference",
	} {
		if err == nil || strings.Count(err.Error(), file+want) != 1 && strings.Count(err.Error(), want) != 1 {
			t.Errorf("no %s in\n%v", want, err)
		}
	}
	if n := len(strings.Split(err.Error(), "\n")); n != 7 {
		t.Errorf("%d mistakes:\n%v", n, err)
	}

	cfg, err := Read(Source{Path: write(t, `
redis: {nodes: [redis://h], password: "a$${env:B}${env:-c}"}
jobs:
  report: {func: report, schedule: "@daily", description: "$${env:A} ${env:-x} ${A}", params: {customer: "${env:-x}"}}
`), Environ: []string{}}, newRegistry(t))
	if err != nil {
		t.Fatal(err)
	}
	if got := cfg.Jobs["report"].Description; got != "${env:A} ${env:-x} ${A}" {
		t.Errorf("the description became %q", got)
	}
	if cluster, err := cfg.Cluster(); err != nil || cluster.Redis.Password != "a${env:B}${env:-c}" {
		t.Errorf("the password became %q, %v", cluster.Redis.Password, err)
	}
}

package config

import (
	"strings"
	"testing"
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
		got, err := Expand(text)
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
	if cfg.Namespace != "5s" || !cfg.Redis.Durable || cfg.Lock.TTL.String() != "5s" || cfg.Defaults.StartsAt.String() != "2027-01-01 00:00:00 +0000 UTC" {
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

package config

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// The table of stores has only keys that exist. Each of them selects its store, and programs that lack
// the store say which one has it.
func TestStores(t *testing.T) {
	t.Parallel()
	for _, s := range Default().stores() {
		for _, key := range []string{s.timeoutKey, s.graceKey} {
			at := path{s.section, key}
			if of := typeAt(at); of == nil || of.String() != "time.Duration" {
				t.Errorf("%s is a %v", at, of)
			}
			cfg := Default()
			fill(&problems{}, map[string]any{s.section: map[string]any{key: "7s"}}, cfg)
			got := cfg.store()
			if got.section != s.section || got.timeout+got.grace != 7*time.Second+map[bool]time.Duration{true: s.grace, false: s.timeout}[key == s.timeoutKey] {
				t.Errorf("%s selects %s with %v and %v", at, got.section, got.timeout, got.grace)
			}
		}
		if forgets[s.graceKey] == "" {
			t.Errorf("nothing says what %s is against", s.key(s.graceKey))
		}
		program := map[string]string{SectionRedis: "quorate;", SectionPostgres: "quorate;"}[s.section]
		if program == "" {
			program = "quorate-" + s.section + ";"
		}
		if text := Lacking(s.section); !strings.Contains(text, s.name+": use "+program) || !strings.Contains(text, "new("+s.section+".Store) of package stores/"+s.section) {
			t.Errorf("a program without %s says: %s", s.section, text)
		}
	}
}

// The URL of MySQL names one server, and says how to use TLS. The database is the namespace. SQLite has a
// path in place of it.
func TestAddressesOfDatabases(t *testing.T) {
	t.Parallel()
	const section = "namespace: billing\nmysql: {url: \"%s\", tls: {%s}}\n"
	for text, want := range map[string]string{
		fmt.Sprintf(section, "mysql://u@10.0.0.1", ""):                                            "",
		fmt.Sprintf(section, "mysql://10.0.0.1", ""):                                              "mysql.url: is no URL",
		fmt.Sprintf(section, "mysql://u@db:99999", ""):                                            "mysql.url: has a port above 65535",
		fmt.Sprintf(section, "mysql://u:${env:NO_SUCH_VARIABLE}@[::1]:3306/", "ca_file: a"):       "",
		fmt.Sprintf(section, "mysql://u:a%40b@db/billing?tls=true", "ca_file: a"):                 "",
		fmt.Sprintf(section, "mysql://u@db?tls=skip-verify", ""):                                  "",
		fmt.Sprintf(section, "mysql://u@db?tls=preferred", ""):                                    "",
		fmt.Sprintf(section, "mysql://u@db?tls=preferred", "ca_file: a"):                          "mysql.tls: is ignored",
		fmt.Sprintf(section, "mysql://u@db?tls=skip-verify", "ca_file: a"):                        "mysql.tls: is ignored",
		fmt.Sprintf(section, "mysql://u@db?tls=yes", ""):                                          "mysql.url: has another parameter than tls=true, skip-verify or preferred",
		fmt.Sprintf(section, "mysql://u@db?tls=true&tls=preferred", ""):                           "mysql.url: has another parameter",
		fmt.Sprintf(section, "mysql://u@db?timeout=1s", ""):                                       "mysql.url: has another parameter",
		fmt.Sprintf(section, "mysql://u@db/app", ""):                                              "mysql.url: names another database",
		fmt.Sprintf(section, "mysql://u@:3306", ""):                                               "mysql.url: is no URL",
		fmt.Sprintf(section, "mysql://u:a@b@db", ""):                                              "mysql.url: is no URL",
		fmt.Sprintf(section, "mysql://u@a:3306,b:3306", ""):                                       "mysql.url: is no URL",
		fmt.Sprintf(section, "mysql://u@db#x", ""):                                                "mysql.url: is no URL",
		fmt.Sprintf(section, "mariadb://u@db", ""):                                                "mysql.url: is no URL",
		fmt.Sprintf(section, "u:p@tcp(db:3306)/billing", ""):                                      "mysql.url: is no URL",
		fmt.Sprintf(section, "mysql://u@db", "cert_file: a"):                                      "mysql.tls: cert_file and key_file go together",
		"namespace: billing\nmysql: {url: \"mysql://u@db\", failover_grace: 15s}\n":               "lock.ttl: 15s is not below mysql.failover_grace (15s)",
		"namespace: billing\nmysql: {url: \"mysql://u@db\", timeout: 3750ms}\n":                   "mysql.timeout: 3.75s is not below a quarter of lock.ttl",
		"namespace: billing\nmysql: {url: \"mysql://u@db\"}\nsqlite: {path: a}\n":                 "mysql: the section sqlite is set, too",
		"namespace: billing\nsqlite: {path: a, restore_grace: 15s}\n":                             "lock.ttl: 15s is not below sqlite.restore_grace (15s)",
		"namespace: billing\nsqlite: {path: a, timeout: 3750ms}\n":                                "sqlite.timeout: 3.75s is not below a quarter of lock.ttl",
		"namespace: billing\nsqlite: {path: \"file:a?mode=ro\"}\n":                                "sqlite.path: is no path of a file",
		"namespace: billing\nsqlite: {path: \"/var/lib/quorate/\"}\n":                             "sqlite.path: is no path of a file",
		"namespace: billing\nsqlite: {path: \"${env:NO_SUCH_VARIABLE}/a\", restore_grace: 20s}\n": "sqlite.path: ${env:NO_SUCH_VARIABLE}",
	} {
		_, err := Read(Source{Path: write(t, text), Environ: []string{}}, nil)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s\n%v, want %q", text, err, want)
		}
	}
}

// The file of SQLite is the same for all processes that read a configuration, wherever they run.
func TestPathOfSQLite(t *testing.T) {
	t.Setenv("QUORATE_TEST_STATE", "state")
	for written, want := range map[string]string{
		"quorate.db": "FOLDER/quorate.db", "../q.db": "FOLDER/../q.db", "${env:QUORATE_TEST_STATE}/q.db": "FOLDER/state/q.db", "/srv/q.db": "/srv/q.db",
	} {
		file := write(t, fmt.Sprintf("sqlite: {path: \"%s\"}\n", written))
		cluster, err := ReadCluster(Source{Path: file, Environ: []string{}})
		if err != nil {
			t.Fatal(err)
		}
		if want = filepath.Clean(strings.Replace(want, "FOLDER", filepath.Dir(file), 1)); cluster.SQLite.Path != want || cluster.Section != SectionSQLite || cluster.Grace != 20*time.Second {
			t.Errorf("%s is %+v of %s, want %s", written, cluster.SQLite, cluster.Section, want)
		}
	}
	inCode := Default()
	inCode.SQLite.Path = "quorate.db"
	if cluster, err := inCode.Cluster(); err != nil || cluster.SQLite.Path != "quorate.db" {
		t.Errorf("a path of a program is %s, %v", cluster.SQLite.Path, err)
	}
}

// The settings of databases are shown with their references, and without passwords.
func TestShownDatabases(t *testing.T) {
	t.Parallel()
	for _, scheme := range []string{SectionPostgres, SectionMySQL} {
		for written, want := range map[string]string{"hunter2": "***", "${env:NO_SUCH_VARIABLE}": "${env:NO_SUCH_VARIABLE}"} {
			c := Default()
			fill(&problems{}, map[string]any{scheme: map[string]any{"url": scheme + "://ann:" + written + "@db"}}, c)
			shown, err := json.Marshal(c.Shown())
			if text := fmt.Sprintf(`"url":"%s://ann:%s@db"`, scheme, want); err != nil || !strings.Contains(string(shown), text) {
				t.Errorf("%s is not shown: %s, %v", text, shown, err)
			}
		}
	}
}

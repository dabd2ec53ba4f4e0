package ci

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A machine is a PATH of its own, whose apt-get and sudo only write down their calls.
type machine struct {
	t        *testing.T
	bin, log string
}

func newMachine(t *testing.T, commands map[string]string) *machine {
	t.Helper()
	m := &machine{t: t, bin: t.TempDir(), log: filepath.Join(t.TempDir(), "calls")}
	for _, needed := range []string{"bash", "sh", "env", "xargs", "echo", "printf", "rm", "tee", "chmod", "touch"} {
		path, err := exec.LookPath(needed)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(path, filepath.Join(m.bin, needed)); err != nil {
			t.Fatal(err)
		}
	}
	for name, body := range commands {
		m.add(name, body)
	}
	return m
}

func (m *machine) add(name, body string) {
	m.t.Helper()
	text := "#!/bin/sh\n" + strings.NewReplacer("LOG", m.log, "BIN", m.bin).Replace(body) + "\n"
	if err := os.WriteFile(filepath.Join(m.bin, name), []byte(text), 0o755); err != nil {
		m.t.Fatal(err)
	}
}

// deps runs .ci/deps and returns what it printed, its calls, and whether it succeeded.
func (m *machine) deps(programs ...string) (printed, calls string, ok bool) {
	m.t.Helper()
	c := exec.CommandContext(m.t.Context(), filepath.Join(m.bin, "bash"), append([]string{"../../.ci/deps"}, programs...)...)
	policy := filepath.Join(m.bin, "policy-rc.d")
	c.Env = []string{"PATH=" + m.bin, "POLICY_RC_D=" + policy}
	out, err := c.CombinedOutput()
	if _, left := os.Stat(policy); left == nil {
		m.t.Error("the policy that keeps services from starting is left behind")
	}
	list, _ := os.ReadFile(m.log) // none: there were no calls
	return string(out), string(list), err == nil
}

const (
	root     = "echo 0"
	user     = "echo 1000"
	apt      = `echo "apt-get $*" >>LOG; test -x BIN/policy-rc.d || echo "services may start" >>LOG`
	delivers = apt + "\ncase $1 in install) echo >BIN/promtool; chmod +x BIN/promtool;; esac"
	sudo     = `test "$1" = -n || exit 1; shift; echo "sudo $1" >>LOG; exec "$@"`
)

func TestDeps(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		commands map[string]string
		want     string // in what it prints
		calls    string // all of them
		fails    bool
	}{
		"nothing is missing": {
			commands: map[string]string{"id": user, "promtool": ""},
		},
		"root": {
			commands: map[string]string{"id": root, "apt-get": delivers},
			want:     "installing prometheus",
			calls:    "apt-get update -qq\napt-get install -y -qq --no-install-recommends prometheus\n",
		},
		"sudo": {
			commands: map[string]string{"id": user, "apt-get": delivers, "sudo": sudo},
			want:     "installing prometheus",
			calls: "sudo true\nsudo tee\nsudo chmod\nsudo env\napt-get update -qq\nsudo env\n" +
				"apt-get install -y -qq --no-install-recommends prometheus\nsudo rm\n",
		},
		"sudo wants a password": {
			commands: map[string]string{"id": user, "apt-get": delivers, "sudo": "exit 1"},
			want:     "missing: promtool. Installing them needs root, or sudo without a password. Install them and run this again; on Debian: sudo apt-get install prometheus",
			fails:    true,
		},
		"no sudo": {
			commands: map[string]string{"id": user, "apt-get": delivers},
			want:     "needs root",
			fails:    true,
		},
		"no apt-get": {
			commands: map[string]string{"id": root},
			want:     "missing: promtool. There is no apt-get here",
			fails:    true,
		},
		"no list of packages": {
			commands: map[string]string{"id": root, "apt-get": apt + "\nexit 100"},
			want:     "apt-get update failed",
			calls:    "apt-get update -qq\n",
			fails:    true,
		},
		"the package is not what it was": {
			commands: map[string]string{"id": root, "apt-get": apt},
			want:     "missing: promtool. The packages are installed and do not bring them",
			calls:    "apt-get update -qq\napt-get install -y -qq --no-install-recommends prometheus\n",
			fails:    true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t, tt.commands)
			m.add("true", "exit 0")
			printed, calls, ok := m.deps("sh", "promtool")
			if ok == tt.fails || !strings.Contains(printed, tt.want) || tt.want == "" && printed != "" {
				t.Errorf("succeeded %v, printed %q; want %v and %q", ok, printed, !tt.fails, tt.want)
			}
			if calls != tt.calls {
				t.Errorf("called\n%swant\n%s", calls, tt.calls)
			}
		})
	}
}

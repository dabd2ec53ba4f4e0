//go:build linux || darwin

package execjob

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/quorate/quorate/jobs"
)

var run = jobs.Run{
	ID: "backup@20261201T020000.000Z", Job: "backup", Tick: time.Date(2026, 12, 1, 2, 0, 0, 0, time.UTC),
	Token: 42, Attempt: 2, Call: 1, Trigger: "schedule", Replica: "a",
}

// environ runs env with params and returns what it printed, sorted.
func environ(t *testing.T, params map[string]any) []string {
	t.Helper()
	file := noteFile(t)
	if err := bind(t, with(params, "command", []any{"sh", "-c", "env > " + file}))(t.Context(), run); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(read(file), "\n")
	// What a shell sets by itself.
	lines = slices.DeleteFunc(lines, func(s string) bool {
		return strings.HasPrefix(s, "PWD=") || strings.HasPrefix(s, "SHLVL=") || strings.HasPrefix(s, "_=") || strings.HasPrefix(s, "OLDPWD=")
	})
	slices.Sort(lines)
	return lines
}

func TestEnvironment(t *testing.T) {
	for _, name := range []string{"HOME", "TZ"} {
		t.Setenv(name, "of-the-replica")
	}
	t.Setenv("LANG", "C")
	t.Setenv("QUORATE__REDIS__PASSWORD", "s3cret")
	t.Setenv("OTHER", "x")
	own := []string{
		"QUORATE_ATTEMPT=2", "QUORATE_JOB=backup", "QUORATE_REPLICA=a", "QUORATE_TICK=2026-12-01T02:00:00Z", "QUORATE_TOKEN=42",
	}

	got := environ(t, map[string]any{"env": map[string]any{"TZ": "UTC", "MINE": "1"}})
	want := append([]string{"HOME=of-the-replica", "LANG=C", "MINE=1", "PATH=" + os.Getenv("PATH")}, append(own, "TZ=UTC")...)
	if !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}

	got = environ(t, map[string]any{"inherit_env": true})
	if !slices.Contains(got, "OTHER=x") || !slices.Contains(got, "QUORATE_TOKEN=42") {
		t.Errorf("not inherited: %q", got)
	}
	if strings.Contains(strings.Join(got, " "), "s3cret") {
		t.Error("the replica's own password was passed on")
	}
}

func TestFilesAreClosed(t *testing.T) {
	open := func() int {
		files, err := os.ReadDir("/dev/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(files)
	}
	good, bad := bind(t, shell("echo x")), bind(t, map[string]any{"command": []any{"/no/such/program"}})
	_ = good(t.Context(), run) // what the runtime opens once is open now
	before := open()
	for range 5 {
		if err := good(t.Context(), run); err != nil {
			t.Fatal(err)
		}
		if err := bad(t.Context(), run); err == nil {
			t.Fatal("no such program, and no error")
		}
	}
	if after := open(); after != before {
		t.Errorf("%d files open, %d before", after, before)
	}
}

func TestDir(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := bind(t, with(shell("echo here > file"), "dir", dir))(t.Context(), run); err != nil {
		t.Fatal(err)
	}
	if got := read(filepath.Join(dir, "file")); got != "here" {
		t.Errorf("got %q", got)
	}
}

func TestCannotStart(t *testing.T) {
	t.Parallel()
	for name, params := range map[string]map[string]any{
		"no program": {"command": []any{"no-such-program-anywhere"}},
		"no file":    {"command": []any{"/no/such/program"}},
		"no dir":     with(shell("true"), "dir", "/no/such/dir"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := bind(t, params)(t.Context(), run)
			if !errors.Is(err, os.ErrNotExist) && !strings.Contains(err.Error(), "executable file not found") {
				t.Errorf("got %v", err)
			}
			if !strings.HasPrefix(err.Error(), "starting the command: ") {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestExitStatus(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		script, want string
		code         int
	}{
		"silent":          {"exit 3", "exit status 3", 3},
		"standard output": {"echo a; echo b; exit 3", "exit status 3: a\nb", 3},
		"standard error":  {"echo a >&2; exit 3", "exit status 3: a", 3},
		"signal":          {"kill -9 $$", "signal: killed", -1},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := bind(t, shell(tt.script))(t.Context(), run)
			exit, ok := errors.AsType[*ExitError](err)
			if !ok || exit.Code != tt.code || err.Error() != tt.want {
				t.Errorf("got %q, want %q", err, tt.want)
			}
		})
	}
}

func TestOutputIsLogged(t *testing.T) {
	t.Parallel()
	book := new(logBook)
	logged := run
	logged.Logger = book.logger()
	err := bind(t, shell(`printf 'one\r\ntwo\n\377bad\nno end'; echo oops >&2`))(t.Context(), logged)
	if err != nil {
		t.Fatal(err)
	}
	var out, errs []string
	for _, l := range book.lines(t) {
		if l.Stream == "stdout" {
			out = append(out, l.Line)
		} else {
			errs = append(errs, l.Line)
		}
	}
	if want := []string{"one", "two", "\uFFFDbad", "no end"}; !slices.Equal(out, want) {
		t.Errorf("stdout %q, want %q", out, want)
	}
	if want := []string{"oops"}; !slices.Equal(errs, want) {
		t.Errorf("stderr %q, want %q", errs, want)
	}
}

func TestOutputIsBounded(t *testing.T) {
	t.Parallel()
	book := new(logBook)
	logged := run
	logged.Logger = book.logger()
	// A megabyte in lines, a line of a megabyte, and the end that matters.
	script := `yes 0123456789abcde | head -c 1048576; head -c 1048576 /dev/zero | tr '\0' x; echo; echo the end; exit 1`
	err := bind(t, shell(script))(t.Context(), logged)
	exit, ok := errors.AsType[*ExitError](err)
	if !ok || !strings.HasSuffix(exit.Output, "the end") || !strings.HasPrefix(exit.Output, "… ") || len(exit.Output) > maxTail+4 {
		t.Errorf("kept %d bytes, %.20q", len(exit.Output), exit.Output)
	}
	bytes, warnings, lines := 0, 0, book.lines(t)
	if last := lines[len(lines)-1]; last.Line != "the end" || last.Stream != "end" {
		t.Errorf("the log ends with %+v, want the end of the output", last)
	}
	for _, l := range lines {
		bytes += len(l.Line)
		if l.Msg != "output" {
			warnings++
		}
	}
	if bytes > maxLogged+maxTail || bytes < maxLogged/2 || warnings != 1 {
		t.Errorf("logged %d bytes, %d warnings", bytes, warnings)
	}
}

func TestBadParams(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		params map[string]any
		want   string
	}{
		"no command":        {nil, "command: is missing"},
		"empty command":     {map[string]any{"command": []any{""}}, "command: is missing"},
		"command in one":    {map[string]any{"command": []any{"echo hi"}}, "command.0: is no program: write its words as items of the list, or [sh, -c, …]"},
		"directory":         {with(shell(""), "dir", "a\x00"), "dir: has a zero byte"},
		"command as text":   {map[string]any{"command": "echo hi"}, "command: is a string: want a list"},
		"zero byte":         {map[string]any{"command": []any{"a", "b\x00"}}, "command.1: has a zero byte"},
		"variable name":     {with(shell(""), "env", map[string]any{"A=B": "c"}), "env.A=B: is no name"},
		"variable value":    {with(shell(""), "env", map[string]any{"A": "\x00"}), "env.A: has a zero byte"},
		"own variable":      {with(shell(""), "env", map[string]any{"QUORATE_TOKEN": "1"}), "env.QUORATE_TOKEN: is set by quorate"},
		"no grace":          {with(shell(""), "kill_grace", "-1s"), "kill_grace: must be positive"},
		"grace of margin":   {with(shell(""), "kill_grace", "1500ms"), "kill_grace: is 1.5s, but the lease ends 1.5s (lock.safety_margin) after"},
		"unknown parameter": {with(shell(""), "kil_grace", "1s"), `kil_grace: unknown key: did you mean "kill_grace"?`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := tryBind(tt.params, 1500*time.Millisecond)
			if err == nil || !strings.HasPrefix(err.Error(), tt.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("got %v, want %s", err, tt.want)
			}
		})
	}
	if _, err := tryBind(shell(""), 500*time.Millisecond); err != nil {
		t.Errorf("the default grace is not below the margin: %v", err)
	}
	if _, err := tryBind(with(shell(""), "kill_grace", "1499ms"), 1500*time.Millisecond); err != nil {
		t.Errorf("a grace below the margin is refused: %v", err)
	}
}

const canary = "c4n4ry-s3cret-\u00fcber"

// secretly binds a script whose variable TOKEN is a secret.
func secretly(t *testing.T, secret, script string) jobs.Handler {
	t.Helper()
	r := jobs.NewRegistry()
	Register(r)
	params := with(shell(script), "env", map[string]any{"TOKEN": "${env:API_TOKEN}"})
	h, err := r.Bind("exec", params, jobs.Limits{SafetyMargin: time.Hour, Resolve: func(text string) (string, error) {
		return strings.ReplaceAll(text, "${env:API_TOKEN}", secret), nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// Wherever the output is cut, no part of a secret is shown.
func TestSecretsAreMaskedBeforeTheOutputIsCut(t *testing.T) {
	t.Parallel()
	key := "-----BEGIN KEY-----\nab\ncd\nline of the key\n-----END KEY-----"
	dots := func(n int) string { return "head -c " + strconv.Itoa(n) + " /dev/zero | tr '\\0' .; " }
	tests := map[string]struct{ secret, script string }{
		"long line":            {canary, dots(maxLine-10) + `echo "$TOKEN"`},
		"long line of errors":  {canary, `{ ` + dots(maxLine-10) + `echo "$TOKEN"; } >&2`},
		"kept end":             {canary, dots(100) + `echo "$TOKEN"; ` + dots(maxTail-10) + "exit 1"},
		"limit of the log":     {canary, dots(maxLogged-10) + `echo "$TOKEN"; ` + dots(maxTail-10) + "exit 1"},
		"several writes":       {canary, `printf %s "${TOKEN%%s3*}"; sleep 0.1; printf %s "${TOKEN#*4ry-}"; exit 1`},
		"end of a killed one":  {canary, `printf %s "${TOKEN%%-*}"; kill -9 $$`},
		"several lines":        {key, `echo "$TOKEN"; exit 1`},
		"lines in a long line": {key, dots(maxLine-8) + `echo "$TOKEN"; exit 1`},
		"no text":              {"c4n4ry\xff\xfes3cret", `printf %s "$TOKEN"; exit 1`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			book := new(logBook)
			logged := run
			logged.Logger = book.logger()
			err := secretly(t, tt.secret, tt.script)(t.Context(), logged)
			shown := fmt.Sprintf("%v\n%s", err, strings.Join(book.texts(t), "\n"))
			for _, part := range []string{"c4n4", "n4ry", "s3c", "ber", "\nab", "\ncd", "KEY", "line of"} {
				if strings.Contains(shown, part) {
					t.Errorf("shows %q of the secret: …%.200s", part, shown[strings.Index(shown, part):])
				}
			}
		})
	}
}

// A line that is logged in pieces loses no letter, and a line of just that length is one.
func TestLongLinesAreCutBetweenLetters(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		"a" + strings.Repeat("é", 3000), strings.Repeat("日本", 5000), "ab" + strings.Repeat("😀", 3000),
		strings.Repeat("x", maxLine-1), strings.Repeat("x", maxLine), strings.Repeat("x", maxLine+1), strings.Repeat("a\rb", 3000),
	} {
		for _, end := range []string{"\n", "\r\n", ""} {
			file := filepath.Join(t.TempDir(), "text")
			if err := os.WriteFile(file, []byte(line+end), 0o600); err != nil {
				t.Fatal(err)
			}
			book := new(logBook)
			logged := run
			logged.Logger = book.logger()
			err := bind(t, shell("cat "+file+"; exit 1"))(t.Context(), logged)
			lines := book.texts(t)
			got := strings.Join(lines, "")
			if got != line {
				t.Errorf("%.5q… of %d bytes: logged %d, first other at %d", line, len(line), len(got), firstOther(got, line))
			}
			if pieces := (len(line) + maxLine - 4) / (maxLine - 3); len(lines) > pieces {
				t.Errorf("%.5q… of %d bytes is logged in %d pieces", line, len(line), len(lines))
			}
			if strings.Contains(err.Error(), "\uFFFD") {
				t.Errorf("the error has half a letter: %.40q", err)
			}
		}
	}
}

func firstOther(a, b string) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i
		}
	}
	return min(len(a), len(b))
}

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"

	"go.yaml.in/yaml/v3"
)

// results is where the pages are.
const results = "docs/results"

// A head stands before the figures of a page, as YAML.
type head struct {
	Part, Result, Commit, Date, Command, Machine string

	Seconds          int
	ProcessorSeconds int      `yaml:"processor_seconds"` // of all processes that the part has waited for
	Load             []string `yaml:",flow"`             // of the machine, at the beginning and at the end
}

// A tree is the working tree of the project.
type tree struct {
	root, machine string
	out           io.Writer // is told how the parts go
	begunAt       string    // its commit when the run began
}

func openTree(ctx context.Context, root string) (*tree, error) {
	t := &tree{root: root, out: os.Stdout, machine: fmt.Sprintf("%s, %d cores, %s %s", runtime.Version(), runtime.NumCPU(), runtime.GOOS, runtime.GOARCH)}
	var err error
	t.begunAt, err = t.commit(ctx)
	return t, err
}

// commit is the short name of the commit, which says so if files beside documents have changed:
// some parts write those.
func (t *tree) commit(ctx context.Context) (string, error) {
	name, err := t.git(ctx, "rev-parse", "--short=8", "HEAD")
	if err != nil {
		return "", err
	}
	changed, err := t.git(ctx, "status", "--porcelain", "--", ".", ":!docs")
	if changed != "" {
		name += " with changes"
	}
	return name, err
}

func (t *tree) git(ctx context.Context, args ...string) (string, error) {
	command := exec.CommandContext(ctx, "git", args...)
	command.Dir = t.root
	output, err := command.Output()
	if failed, ok := errors.AsType[*exec.ExitError](err); ok {
		err = fmt.Errorf("git %s: %w: %s", args[0], err, bytes.TrimSpace(failed.Stderr))
	}
	return strings.TrimSpace(string(output)), err
}

// A page keeps so much of a line, and so many lines: those of a failure may be thousands.
const mostColumns, mostLines = 160, 300

// writePage writes the page of a part that has run.
func (t *tree) writePage(p part, h head, output string) error {
	text, err := yaml.Marshal(h)
	if err != nil {
		return err
	}
	var page strings.Builder
	fmt.Fprintf(&page, "---\n%s---\n# %s: %s\n\n```\n", text, p.name, p.says)
	scrub, lines := t.scrubber(), 0
	for line := range strings.Lines(output) {
		line = scrub.ReplaceAllString(strings.TrimRight(line, "\n"), "")
		if p.drop != nil && p.drop.MatchString(line) {
			continue
		}
		if lines++; lines <= mostLines {
			letters := []rune(strings.ToValidUTF8(line, ""))
			page.WriteString(string(letters[:min(len(letters), mostColumns)]) + "\n")
		}
	}
	if lines > mostLines {
		fmt.Fprintf(&page, "… and %d lines more\n", lines-mostLines)
	}
	page.WriteString("```\n")
	return os.WriteFile(filepath.Join(t.root, results, p.name+".md"), []byte(page.String()), 0o644)
}

// scrubber matches what only this machine has: paths.
func (t *tree) scrubber() *regexp.Regexp {
	root, _ := filepath.Abs(t.root)
	return regexp.MustCompile(regexp.QuoteMeta(root) + `/?|` + regexp.QuoteMeta(os.TempDir()) + `/[^ ]*?/[0-9]{3}/?`)
}

// read returns the head of a part's page.
func (t *tree) read(p part) (h head, err error) {
	text, err := os.ReadFile(filepath.Join(t.root, results, p.name+".md"))
	if err != nil {
		return h, err
	}
	_, rest, begins := strings.Cut(string(text), "---\n")
	front, _, ends := strings.Cut(rest, "---\n")
	if !begins || !ends {
		return h, fmt.Errorf("%s/%s.md has no head", results, p.name)
	}
	if err := yaml.Unmarshal([]byte(front), &h); err != nil {
		return h, fmt.Errorf("%s/%s.md: %w", results, p.name, err)
	}
	return h, nil
}

// index lists the parts, and says which pages are older than the code that they speak for.
func (t *tree) index(ctx context.Context) (string, error) {
	var b strings.Builder
	b.WriteString("# What was run, and when\n\n`make proof` runs the parts that speak for a promise, `make full` all, and\n" +
		"`go run ./dev/proof PART` one. They write these pages. \"Since then\" counts the changed files of the\n" +
		"code that a part speaks for, from its commit to that of this page.\n\n" +
		"| part | result | command | commit | since then | seconds | of the processor | shows |\n|---|---|---|---|---|---|---|---|\n")
	for _, p := range parts {
		h, err := t.read(p)
		if errors.Is(err, fs.ErrNotExist) {
			fmt.Fprintf(&b, "| %s | no page | | | | | | %s |\n", p.name, p.says)
			continue
		}
		if err != nil {
			return "", err
		}
		since, err := t.since(ctx, h.Commit, p.code)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "| [%s](%s.md) | %s | `%s` | %s, %s | %s | %d | %d | %s |\n",
			p.name, p.name, h.Result, h.Command, h.Commit, h.Date, since, h.Seconds, h.ProcessorSeconds, p.says)
	}
	return b.String(), nil
}

// since says how much of the code has changed since a commit.
func (t *tree) since(ctx context.Context, commit string, code []string) (string, error) {
	name, _, changed := strings.Cut(commit, " ")
	if found, err := t.git(ctx, "rev-parse", "--quiet", "--verify", name+"^{commit}"); found == "" {
		return "unknown here", ctx.Err()
	} else if err != nil {
		return "", err
	}
	files, err := t.git(ctx, append([]string{"diff", "--name-only", name, "HEAD", "--"}, code...)...)
	switch {
	case err != nil:
		return "", err
	case changed:
		return "not of a commit", nil
	case files == "":
		return "nothing", nil
	}
	if n := len(strings.Split(files, "\n")); n > 1 {
		return fmt.Sprintf("%d files", n), nil
	}
	return "1 file", nil
}

func (t *tree) writeIndex(ctx context.Context) error {
	text, err := t.index(ctx)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(t.root, results, "README.md"), []byte(text), 0o644)
}

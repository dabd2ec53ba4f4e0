package reference

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

func TestText(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"format: table, which fits the terminal, or json, which has every field": "format: table, which fits the terminal, or json, which has every field",
		"reason, in a few words, for the audit log":                              "reason, in a few words, for the audit log",
		"only these kinds: trigger, catch_up, copy":                              "only these kinds: `trigger`, `catch_up`, `copy`",
		"granted, not awaited, held or refused.":                                 "`granted`, `not awaited`, `held` or `refused`.",
		"skip or rerun.":                                                         "`skip` or `rerun`.",
		"your name (default user@host), or USER@HOST":                            "your name (default `user@host`), or `USER@HOST`",
		"5 fields, @daily or @every 30s":                                         "5 fields, `@daily` or `@every 30s`",
		"say with --system=false or --system, or set NO_COLOR":                   "say with `--system=false` or `--system`, or set `NO_COLOR`",
		"quorate resume --id ends it":                                            "`quorate resume --id` ends it",
		"a * and a_b_c, see redis://[u@]h":                                       `a \* and ` + "`a_b_c`, see `redis://[u@]h`",
	} {
		if got := text(in); got != want {
			t.Errorf("%s: got %s, want %s", in, got, want)
		}
	}
}

// The name of a command is marked as a whole, and no other word with it.
func TestNamesOfCommands(t *testing.T) {
	t.Parallel()
	run := func(*cobra.Command, []string) {}
	root := &cobra.Command{Use: "quorate", Run: run}
	locks := &cobra.Command{Use: "locks", Run: run}
	locks.AddCommand(&cobra.Command{Use: "release JOB", Run: run})
	root.AddCommand(locks, &cobra.Command{Use: "store", Run: run})
	for in, want := range map[string]string{
		"quorate locks lists, quorate locks\nrelease takes": "`quorate locks` lists, `quorate locks\nrelease` takes",
		"quorate store of it, a script for quorate for you": "`quorate store` of it, a script for quorate for you",
		"use quorate locks --all":                           "use `quorate locks --all`",
	} {
		if got := named(root, text(in)); got != want {
			t.Errorf("%s: got %s, want %s", in, got, want)
		}
	}
}

// Code in the pages is a name or an expression. Several beside each other are the words of a sentence,
// and what touches a word is a part of it.
func TestCodeIsNoProse(t *testing.T) {
	t.Parallel()
	block, code := regexp.MustCompile("(?ms)^```.*?^```$"), regexp.MustCompile("`([^`]+)`")
	wrong := regexp.MustCompile(`\S*⟧\s⟦\S*|\S*[\w=]⟦\S*|\S*⟧[\w=@]\S*`)
	for _, page := range []string{"cli.md", "config.md", "api.md"} {
		all, err := os.ReadFile("../../docs/reference/" + page)
		if err != nil {
			t.Fatal(err)
		}
		prose := code.ReplaceAllString(block.ReplaceAllString(string(all), ""), "⟦$1⟧")
		if strings.Count(prose, "⟦") < 100 {
			t.Fatalf("%s has hardly any code", page)
		}
		for _, text := range wrong.FindAllString(prose, -1) {
			t.Errorf("%s has %s", page, text)
		}
	}
}

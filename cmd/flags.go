package cmd

import (
	"cmp"
	"os"
	"os/user"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/quorate/quorate/cmd/internal/failure"
	"github.com/quorate/quorate/cmd/internal/output"
	"github.com/quorate/quorate/internal/config"
	"github.com/quorate/quorate/scheduler/commands"
)

// listing returns the command with -o.
func listing(a *cli, c *cobra.Command) *cobra.Command {
	c.Flags().StringVarP(&a.format, "output", "o", "table", "`format`: table, which fits the terminal, or json, which has every field")
	c.PreRunE = func(*cobra.Command, []string) error {
		if a.format != "table" && a.format != "json" {
			return failure.Usagef("-o %s: write -o table or -o json", a.format)
		}
		return nil
	}
	completeList(c, "output", []string{"table", "json"})
	return c
}

// usualRows is the default number of rows.
const usualRows = 100

// limitFlag adds -n to a listing.
func limitFlag(c *cobra.Command, limit *int, usual int) {
	c.Flags().IntVarP(limit, "limit", "n", usual, "number of `rows` at most")
	check := c.PreRunE
	c.PreRunE = func(c *cobra.Command, args []string) error {
		if *limit < 1 {
			return failure.Usagef("--limit %d: write 1 or more", *limit)
		}
		return check(c, args)
	}
}

// timeFlag adds a flag for a time, an age or a day.
func timeFlag(c *cobra.Command, to *time.Time, name, usage string) {
	c.Flags().Func(name, usage+", an age (24h), today or yesterday", func(text string) (err error) {
		*to, err = timeOf(text, time.Now())
		if err != nil {
			return failure.Usagef("--%s %s: write a time such as 2027-01-01T00:00:00Z, an age such as 24h, today or yesterday", name, text)
		}
		return nil
	})
}

// timeOf reads a time; a day begins at midnight in the zone of now.
func timeOf(text string, now time.Time) (time.Time, error) {
	midnight := func(ago int) time.Time {
		return time.Date(now.Year(), now.Month(), now.Day()-ago, 0, 0, 0, 0, now.Location())
	}
	switch text {
	case "":
		return time.Time{}, nil
	case "today":
		return midnight(0), nil
	case "yesterday":
		return midnight(1), nil
	}
	if age, err := time.ParseDuration(text); err == nil {
		return now.Add(-age), nil
	}
	return time.Parse(time.RFC3339, text)
}

// A choice is a flag for values of an enumeration, separated by commas. It may be repeated.
type choice[T ~string] struct {
	name   string
	known  []T
	chosen *[]T
}

// String returns no default.
func (choice[T]) String() string { return "" }

// Type makes completion offer the flag more than once.
func (choice[T]) Type() string { return "stringSlice" }

// Set implements pflag.Value.
func (f choice[T]) Set(text string) error {
	for value := range strings.SplitSeq(text, ",") {
		switch {
		case slices.Contains(f.known, T(value)):
			*f.chosen = append(*f.chosen, T(value))
		case text != "":
			return failure.Usagef("--%s %s: write some of %s", f.name, value, strings.Join(output.Texts(f.known), ","))
		}
	}
	return nil
}

// choiceFlag adds a flag for values of an enumeration. The usage lists them.
func choiceFlag[T ~string](c *cobra.Command, chosen *[]T, name, usage string, known []T) {
	all := output.Texts(known)
	c.Flags().Var(choice[T]{name, known, chosen}, name, usage+": "+strings.Join(all, ", "))
	completeList(c, name, all)
}

// asFlag adds --as to a command that the audit log keeps.
func asFlag(c *cobra.Command, by *string) {
	c.Flags().StringVar(by, "as", "", "your name in the audit log (default `user@host`)")
}

// authorFlags adds --as and --reason to a command that acts.
func authorFlags(c *cobra.Command, command *commands.Command) {
	asFlag(c, &command.By)
	c.Flags().StringVar(&command.Reason, "reason", "", "reason, in a few `words`, for the audit log")
}

// signed returns the command with an author: the user of this process, unless --as names one.
func signed(command commands.Command) commands.Command {
	command.By = cmp.Or(command.By, whoami())
	return command
}

// whoami returns the user and host of this process.
func whoami() string {
	name, host := os.Getenv("USER"), "unknown host"
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	if h, err := os.Hostname(); err == nil {
		host = h
	}
	return name + "@" + host
}

// completeFlags completes job names and tags wherever a command takes one, and file names
// only where a flag takes a file.
func completeFlags(root *cobra.Command, a *cli) {
	job := func(_ *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 { // only the first argument is a job
			return beginning(typed, nil)
		}
		return beginning(typed, jobNames(a.configured()))
	}
	tag := func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		var tags []string
		for _, j := range a.configured().Jobs {
			tags = append(tags, j.Tags...)
		}
		slices.Sort(tags)
		return beginning(typed, slices.Compact(tags))
	}
	eachCommand(root, func(c *cobra.Command) {
		switch words := strings.Fields(c.Use); {
		case slices.Contains(words, "--job"):
			_ = c.RegisterFlagCompletionFunc("job", job)
		case slices.Contains(words, "JOB"), slices.Contains(words, "[JOB]"):
			c.ValidArgsFunction = job
		}
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			_, known := c.GetFlagCompletionFunc(f.Name)
			switch what, _ := pflag.UnquoteUsage(f); {
			case known || what == "file":
			case f.Name == "tag":
				_ = c.RegisterFlagCompletionFunc(f.Name, tag)
			default: // no file is meant
				_ = c.RegisterFlagCompletionFunc(f.Name, cobra.NoFileCompletions)
			}
		})
	})
}

// configured returns the configuration for completions, empty if it is invalid.
func (a *cli) configured() *config.Config {
	if cfg, err := config.Read(a.noStore(), nil); err == nil {
		return cfg
	}
	return new(config.Config)
}

// completeList completes the values of a flag, also after a comma. Completion is a
// convenience, and adding it to an existing flag cannot fail.
func completeList(c *cobra.Command, flag string, values []string) {
	_ = c.RegisterFlagCompletionFunc(flag, func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		list := slices.Clone(values)
		for i, v := range list {
			list[i] = typed[:strings.LastIndex(typed, ",")+1] + v
		}
		return beginning(typed, list)
	})
}

// beginning completes what was typed with the values that begin with it.
func beginning(typed string, values []string) ([]string, cobra.ShellCompDirective) {
	values = slices.DeleteFunc(values, func(v string) bool { return !strings.HasPrefix(v, typed) })
	return values, cobra.ShellCompDirectiveNoFileComp
}

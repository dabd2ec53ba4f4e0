package cmd

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/quorate/quorate/cmd/internal/failure"
	"github.com/quorate/quorate/internal/config"
)

// completeShells adds cobra's completion command. For an unknown shell cobra prints help;
// this returns an error.
func completeShells(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	c, _, err := root.Find([]string{"completion"})
	if err != nil {
		return
	}
	c.Args = cobra.ArbitraryArgs
	c.RunE = func(c *cobra.Command, _ []string) error {
		return failure.Usagef("name a shell: %[1]s bash, fish, powershell or zsh; see %[1]s --help", c.CommandPath())
	}
}

// completeJobs completes job names and tags wherever a command takes one, and file names
// only where a flag takes a file.
func completeJobs(root *cobra.Command, a *cli) {
	eachCommand(root, func(c *cobra.Command) {
		switch words := strings.Fields(c.Use); {
		case slices.Contains(words, "--job"):
			_ = c.RegisterFlagCompletionFunc("job", jobCompletion(a))
		case slices.Contains(words, "JOB"), slices.Contains(words, "[JOB]"):
			c.ValidArgsFunction = jobCompletion(a)
		}
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			_, known := c.GetFlagCompletionFunc(f.Name)
			switch what, _ := pflag.UnquoteUsage(f); {
			case known || what == "file":
			case f.Name == "tag":
				_ = c.RegisterFlagCompletionFunc(f.Name, tagCompletion(a))
			default: // no file is meant
				_ = c.RegisterFlagCompletionFunc(f.Name, cobra.NoFileCompletions)
			}
		})
	})
}

// tagCompletion completes a tag with those of the configuration.
func tagCompletion(a *cli) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		cfg, err := config.Read(a.source(), nil)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		var list []string
		for _, name := range jobNames(cfg) {
			for _, tag := range cfg.Jobs[name].Tags {
				if strings.HasPrefix(tag, typed) && !slices.Contains(list, tag) {
					list = append(list, tag)
				}
			}
		}
		return list, cobra.ShellCompDirectiveNoFileComp
	}
}

// jobCompletion completes the first argument with the jobs of the configuration.
func jobCompletion(a *cli) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		source := a.source()
		source.NoStore = true
		cfg, err := config.Read(source, nil)
		if err != nil || len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		list := slices.DeleteFunc(jobNames(cfg), func(name string) bool { return !strings.HasPrefix(name, typed) })
		return list, cobra.ShellCompDirectiveNoFileComp
	}
}

// completeList completes the values of a flag, also after a comma. Completion is a
// convenience, and adding it to an existing flag cannot fail.
func completeList(c *cobra.Command, flag string, values []string) {
	_ = c.RegisterFlagCompletionFunc(flag, func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		before := typed[:strings.LastIndex(typed, ",")+1]
		var list []string
		for _, v := range values {
			if strings.HasPrefix(before+v, typed) {
				list = append(list, before+v)
			}
		}
		return list, cobra.ShellCompDirectiveNoFileComp
	})
}

// outputFlag adds -o to a listing.
func outputFlag(c *cobra.Command, a *cli) {
	c.Flags().StringVarP(&a.format, "output", "o", "table", "`format`: table, which fits the terminal, or json, which has every field")
	c.PreRunE = func(*cobra.Command, []string) error {
		if a.format != "table" && a.format != "json" {
			return failure.Usagef("-o %s: write -o table or -o json", a.format)
		}
		return nil
	}
	completeList(c, "output", []string{"table", "json"})
}

package cmd

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

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

// completeJobs completes job names from the configuration, wherever a command takes one.
func completeJobs(root *cobra.Command, f *flags) {
	names := func(_ *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		cfg, err := config.Read(f.source(), nil)
		if err != nil || len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		list := slices.DeleteFunc(jobNames(cfg), func(name string) bool { return !strings.HasPrefix(name, typed) })
		return list, cobra.ShellCompDirectiveNoFileComp
	}
	for _, c := range root.Commands() {
		for _, c := range append(c.Commands(), c) {
			switch words := strings.Fields(c.Use); {
			case slices.Contains(words, "--job"):
				_ = c.RegisterFlagCompletionFunc("job", names)
			case slices.Contains(words, "JOB"), slices.Contains(words, "[JOB]"):
				c.ValidArgsFunction = names
			}
		}
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
func outputFlag(c *cobra.Command, format *string) {
	c.Flags().StringVarP(format, "output", "o", "table", "`format`: table, which fits the terminal, or json, which has every field")
	c.PreRunE = func(*cobra.Command, []string) error {
		if *format != "table" && *format != "json" {
			return failure.Usagef("-o %s: write -o table or -o json", *format)
		}
		return nil
	}
	completeList(c, "output", []string{"table", "json"})
}

package cmd

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/quorate/quorate/cmd/internal/output"
	"github.com/quorate/quorate/internal/config"
	"github.com/quorate/quorate/internal/console/view"
)

func validateCommand(a *cli) *cobra.Command {
	return &cobra.Command{
		Use:   "validate",
		Short: "Report every mistake in the configuration, file:line:column",
		Long: `Report every mistake in the configuration, file:line:column, and start nothing. Exit
code 2 if there is a mistake. Settings that are allowed but unlikely print a warning.
References such as ${file:/run/secrets/redis} need not resolve, so you can validate
where the secrets are absent: those of webhooks and params then print a warning.`,
		Example: "  quorate validate --config prod.yaml",
		RunE: func(*cobra.Command, []string) error {
			cfg, err := config.Read(a.source(), a.Registry)
			if err != nil {
				return err
			}
			for _, w := range cfg.Warnings() {
				fmt.Fprintln(a.Err, w)
			}
			kept, means := config.Kept(cfg)
			fmt.Fprintf(a.Out, "the configuration is valid: %s, %s\n", view.Count(len(cfg.Jobs), "job", "jobs"), kept)
			if means != "" {
				output.Remark(a.Out, kept, means)
			}
			return nil
		},
	}
}

func schemaCommand(a *cli) *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON schema of config.yaml",
		Long: `Print the JSON schema of config.yaml. Editors with YAML support use it if the file
begins with
  # yaml-language-server: $schema=quorate.schema.json`,
		Example: "  quorate schema > quorate.schema.json",
		RunE: func(*cobra.Command, []string) error {
			schema, err := config.Schema()
			if err != nil {
				return err
			}
			out := json.NewEncoder(a.Out)
			out.SetIndent("", "  ")
			return out.Encode(schema)
		},
	}
}

package cmd

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/quorate/quorate/cmd/internal/failure"
	"github.com/quorate/quorate/scheduler/identity"
)

func usersCommand(a *cli) *cobra.Command {
	c := &cobra.Command{
		Use:   "users",
		Short: "Create the secrets with which users log in to the API and the dashboard",
		Long: `Create the secrets with which users log in to the API and the dashboard. The
configuration keeps them hashed only, under http.users or in http.users_file:

  http:
    users:
      ann: {role: operator, password: "pbkdf2-sha256$…"}
      deploy: {role: admin, token: "sha256$…"}`,
		Example: `  quorate users token
  quorate users password`,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(usersTokenCommand(a), usersPasswordCommand(a))
	return c
}

func usersTokenCommand(a *cli) *cobra.Command {
	return &cobra.Command{
		Use:   "token",
		Short: "Create a token for a program, and print it with its hash",
		Long: `Create a random token and print two lines: the token, which the program sends as
Authorization: Bearer TOKEN, and its hash for the configuration. The token is shown
once and cannot be recovered from the hash.`,
		Example: `  quorate users token`,
		RunE: func(*cobra.Command, []string) error {
			token, stored := identity.NewToken()
			fmt.Fprintf(a.Out, "token:         %s\nconfiguration: %s\n", token, stored)
			return nil
		},
	}
}

func usersPasswordCommand(a *cli) *cobra.Command {
	return &cobra.Command{
		Use:   "password",
		Short: "Read a password, and print its hash for the configuration",
		Long: fmt.Sprintf(`Read a password of %d characters or more, from the terminal or as the first line of
standard input, and print its hash for the configuration.`, identity.MinPassword),
		Example: `  quorate users password
  pass show quorate | quorate users password`,
		RunE: func(*cobra.Command, []string) error {
			password, err := readPassword(a.In, a.Err)
			if err != nil {
				return err
			}
			stored, err := identity.HashPassword(password)
			if err != nil {
				return failure.Usage(err)
			}
			fmt.Fprintln(a.Out, stored)
			return nil
		},
	}
}

// readPassword reads a password, without echo on a terminal.
func readPassword(in io.Reader, ask io.Writer) (string, error) {
	if f, ok := in.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		fmt.Fprint(ask, "Password: ")
		text, err := term.ReadPassword(int(f.Fd()))
		fmt.Fprintln(ask)
		return string(text), err
	}
	line, err := bufio.NewReader(in).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return "", fmt.Errorf("reading the password: %w", err)
	}
	return strings.TrimRight(line, "\r\n"), nil
}

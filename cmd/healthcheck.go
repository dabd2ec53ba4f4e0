package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/quorate/quorate/cmd/internal/failure"
	"github.com/quorate/quorate/internal/config"
)

// healthTimeout is how long the replica has to answer.
const healthTimeout = 5 * time.Second

// mostHealth bounds the answer that is read.
const mostHealth = 64 << 10

func healthCommand(a *cli) *cobra.Command {
	var ready bool
	c := &cobra.Command{
		Use:   "health",
		Short: "Ask the replica on this machine whether it is alive",
		Long: `Ask the replica on this machine whether it is alive, for the health check of a
container. It sends one request to http.probes_listen of the configuration: to
/healthz, or with --ready to /readyz. Exit code 1 if the answer is no.`,
		Example: `  quorate health --config prod.yaml
  quorate health --ready`,
		RunE: func(c *cobra.Command, _ []string) error {
			cfg, err := config.Read(a.source(), a.Registry)
			if err != nil {
				return err
			}
			address, err := localAddress(cfg.HTTP.ProbesListen)
			if err != nil {
				return err
			}
			path := "/healthz"
			if ready {
				path = "/readyz"
			}
			answer, err := probe(c.Context(), "http://"+address+path)
			if err == nil {
				fmt.Fprintln(a.Out, answer)
			}
			return err
		},
	}
	c.Flags().BoolVar(&ready, "ready", false, "ask whether it takes ticks")
	return c
}

// localAddress is where a client on this machine reaches a server that listens there.
func localAddress(listen string) (string, error) {
	host, port, err := net.SplitHostPort(listen)
	if err != nil || port == "0" {
		return "", failure.Usagef("http.probes_listen is %q: set it to an address with a port, such as 127.0.0.1:8081", listen)
	}
	if ip, err := netip.ParseAddr(host); host == "" || err == nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port), nil
}

// probe asks for a URL and returns the answer, which is an error unless its status is 200.
func probe(ctx context.Context, url string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}} // and no proxy
	response, err := client.Do(request)
	if err != nil {
		return "", fmt.Errorf("the replica does not answer: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(response.Body, mostHealth))
	if err != nil {
		return "", err
	}
	answer := strings.TrimSpace(string(text))
	if response.StatusCode != http.StatusOK {
		return "", errors.New(answer)
	}
	return answer, nil
}

package jobs_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/quorate/quorate/jobs"
)

const canary = "c4n4ry-s3cret"

type secretParams struct {
	Token string            `json:"token"`
	Wait  time.Duration     `json:"wait"`
	Count int               `json:"count"`
	Env   map[string]string `json:"env"`
	List  []string          `json:"list"`
}

func (p *secretParams) SetDefaults() { p.Wait = time.Second }

func (p *secretParams) Validate() error {
	if p.Wait <= 0 || strings.Contains(p.Token, "$") {
		return errors.New("token is unresolved or wait is not positive")
	}
	return nil
}

// resolveWith replaces ${env:X} by what values has for X.
func resolveWith(values map[string]string) func(string) (string, error) {
	return func(s string) (string, error) {
		before, rest, _ := strings.Cut(s, "${env:")
		name, after, _ := strings.Cut(rest, "}")
		value, ok := values[name]
		if !ok {
			return "", fmt.Errorf("%s is not set", name)
		}
		return before + value + after, nil
	}
}

func bindSecret(t *testing.T, params map[string]any, values map[string]string, fn func(context.Context, jobs.Run, secretParams) error) jobs.Handler {
	t.Helper()
	r := jobs.NewRegistry()
	jobs.Register(r, "f", fn)
	h, err := r.Bind("f", params, jobs.Limits{Resolve: resolveWith(values)})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func TestSecretsAreReadAtEachRun(t *testing.T) {
	t.Parallel()
	var got secretParams
	values := map[string]string{}
	h := bindSecret(t, map[string]any{
		"token": "Bearer ${env:T}", "wait": "${env:W}",
		"env": map[string]any{"A": "${env:T}"}, "list": []any{"x", "${env:T}"},
	}, values, func(_ context.Context, _ jobs.Run, p secretParams) error {
		got = p
		return nil
	})
	for _, token := range []string{"first", "second"} {
		values["T"], values["W"] = token, "3s"
		if err := h(t.Context(), jobs.Run{}); err != nil {
			t.Fatal(err)
		}
		if got.Token != "Bearer "+token || got.Wait != 3*time.Second || got.Env["A"] != token || got.List[1] != token {
			t.Errorf("got %+v", got)
		}
	}
	delete(values, "T")
	if err := h(t.Context(), jobs.Run{}); err == nil || err.Error() != "resolving param env.A: T is not set" {
		t.Errorf("got %v", err)
	}
}

func TestBindFindsMistakesAroundReferences(t *testing.T) {
	t.Parallel()
	r := jobs.NewRegistry()
	jobs.Register(r, "f", func(context.Context, jobs.Run, secretParams) error { return nil })
	_, err := r.Bind("f", map[string]any{"token": "${env:T}", "count": "${env:N}", "bogus": 1},
		jobs.Limits{Resolve: resolveWith(nil)})
	want := "bogus: unknown key: known: count, env, list, token, wait\ncount: is a string: want a whole number"
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestSecretsAreNotInMessagesAboutThem(t *testing.T) {
	t.Parallel()
	h := bindSecret(t, map[string]any{"wait": "${env:W}"}, map[string]string{"W": canary},
		func(context.Context, jobs.Run, secretParams) error { return nil })
	err := h(t.Context(), jobs.Run{})
	if err == nil || strings.Contains(err.Error(), canary) || !strings.Contains(err.Error(), "wait: a string cannot be parsed") {
		t.Errorf("got %v", err)
	}
}

type resolvesLater struct{ s string }

func (r resolvesLater) LogValue() slog.Value { return slog.StringValue(r.s) }

func TestSecretsAreMasked(t *testing.T) {
	t.Parallel()
	sentinel := errors.New("sentinel")
	values := map[string]string{"T": canary, "KEY": "BEGIN\nline-of-key\nEND", "Z": "a"}
	params := map[string]any{"token": "Bearer ${env:T}", "list": []any{"${env:KEY}", "${env:Z}"}}
	fail := map[string]func(jobs.Run) error{
		"error": func(jobs.Run) error { return fmt.Errorf("denied %s: %w", canary, sentinel) },
		"panic": func(jobs.Run) error { panic(canary) },
		"skip":  func(jobs.Run) error { return jobs.Skip("nothing for " + canary) },
		"lines": func(jobs.Run) error { return errors.New("bad line-of-key") },
		"log": func(run jobs.Run) error {
			run.Logger.With("with", canary).WithGroup("g").Info("message "+canary, "string", "x"+canary,
				"error", errors.New(canary), "list", []string{canary}, "later", resolvesLater{canary},
				slog.Group("inner", "deep", canary), "number", 5)
			return nil
		},
	}
	for name, f := range fail {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var log bytes.Buffer
			h := bindSecret(t, params, values, func(_ context.Context, run jobs.Run, _ secretParams) error { return f(run) })
			err := h(t.Context(), jobs.Run{Logger: slog.New(slog.NewTextHandler(&log, nil))})
			shown := fmt.Sprint(err) + log.String()
			if strings.Contains(shown, canary) || strings.Contains(shown, "line-of-key") || !strings.Contains(shown, "***") {
				t.Errorf("shown: %s", shown)
			}
			switch name {
			case "error":
				if !errors.Is(err, sentinel) {
					t.Error("the masked error lost what it wraps")
				}
				if err.Error() != "denied ***: sentinel" {
					t.Errorf("a short value was masked too: %v", err)
				}
			case "skip":
				if skip, ok := errors.AsType[*jobs.SkipError](err); !ok || strings.Contains(skip.Reason, canary) {
					t.Errorf("reason of the skip: %+v", skip)
				}
			case "log":
				if !strings.Contains(log.String(), "number=5") || strings.Count(log.String(), "***") != 7 {
					t.Errorf("log: %s", log.String())
				}
			}
		})
	}
}

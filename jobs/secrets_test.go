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

// Each reference of a text is a secret of its own, unless it says that it is none.
func TestEachReferenceIsASecret(t *testing.T) {
	t.Parallel()
	resolve := func(ref string) (string, error) {
		return map[string]string{"${env:USER}": "the-user", "${env:PASS}": "the-pass", "${plain:env:STAGE}": "production", "${file:/x}": "x"}[ref], nil
	}
	r := jobs.NewRegistry()
	jobs.Register(r, "f", func(_ context.Context, _ jobs.Run, p secretParams) error {
		return errors.New(p.List[0] + "; the-pass of the-user in production")
	})
	h, err := r.Bind("f", map[string]any{"list": []any{"https://${env:USER}:${env:PASS}@${plain:env:STAGE}.example.com/$${env:PASS}/${env:-${file:/x}}"}}, jobs.Limits{Resolve: resolve})
	if err != nil {
		t.Fatal(err)
	}
	const want = "https://***:***@production.example.com/${env:PASS}/${env:-x}; *** of *** in production"
	if err := h(t.Context(), jobs.Run{}); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// Binding says what a run would say of a reference, wherever it is, and leaves what is none.
func TestReferencesAreCheckedWhenBound(t *testing.T) {
	t.Parallel()
	type params struct {
		Command []string          `json:"command"`
		Env     map[string]string `json:"env"`
		Any     any               `json:"any"`
		Wait    time.Duration     `json:"wait"`
	}
	var got params
	r := jobs.NewRegistry()
	jobs.Register(r, "f", func(_ context.Context, _ jobs.Run, p params) error {
		got = p
		return nil
	})
	bind := func(in map[string]any) (jobs.Handler, error) {
		return r.Bind("f", in, jobs.Limits{Resolve: func(ref string) (string, error) { return "value", nil }})
	}
	for text, want := range map[string]string{
		"echo ${env:-staging}": "", "${env}": "", "${VAR}": "", "${file:?}": "", "${env:X": "",
		"$${env:X}": "${env:X}", "$${file:/x} ${env:-a}": "${file:/x} ${env:-a}",
	} {
		if want == "" {
			want = text
		}
		h, err := bind(map[string]any{
			"command": []any{text}, "env": map[string]any{text: text}, "any": map[string]any{"deep": []any{text}},
		})
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if err := h(t.Context(), jobs.Run{}); err != nil {
			t.Errorf("%s: %v", text, err)
		}
		if deep := fmt.Sprint(got.Any); got.Command[0] != want || got.Env[text] != want || deep != "map[deep:["+want+"]]" {
			t.Errorf("%s became %+v", text, got)
		}
	}
	for _, text := range []string{"${env:}", "${env:A:-b}", "${file:}", "x ${env:${env:A}}"} {
		_, err := bind(map[string]any{
			"command": []any{"x", text}, "env": map[string]any{"E": text}, "any": map[string]any{"deep": []any{text}}, "wait": text,
		})
		for _, at := range []string{"any.deep.0", "command.1", "env.E", "wait"} {
			if strings.Count(fmt.Sprint(err), at+": ${") != 1 {
				t.Errorf("%s: got %v, want one mistake at %s", text, err, at)
			}
		}
	}
	if _, err := bind(map[string]any{"wait": "$${env:X}"}); err == nil {
		t.Error("an escaped reference is taken for a duration")
	}
}

// The ledger gets the stack of a panic, without secrets.
func TestStackOfAPanicIsMasked(t *testing.T) {
	t.Parallel()
	sentinel := errors.New("sentinel")
	h := bindSecret(t, map[string]any{"token": "${env:T}"}, map[string]string{"T": canary}, func(context.Context, jobs.Run, secretParams) error {
		panic(&jobs.PanicError{Value: fmt.Errorf("%s: %w", canary, sentinel), Stack: []byte("at " + canary)})
	})
	err := h(t.Context(), jobs.Run{})
	for inner := err; inner != nil; {
		crash, ok := errors.AsType[*jobs.PanicError](inner)
		if !ok {
			break
		}
		if strings.Contains(fmt.Sprint(crash, string(crash.Stack), crash.Value), canary) {
			t.Errorf("shows %v, %s", crash.Value, crash.Stack)
		}
		inner = errors.Unwrap(crash)
	}
	if !errors.Is(err, sentinel) {
		t.Errorf("%v is no longer what the function panicked with", err)
	}
}

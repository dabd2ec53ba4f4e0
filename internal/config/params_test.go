package config

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/replica/settings"
)

type boundedParams struct {
	Count int
	Wait  time.Duration
	Level string
	From  netip.Addr
	Sizes map[string]time.Duration
	Text  string
}

func (p *boundedParams) SetDefaults() { p.Level = "low" }

func (p *boundedParams) Validate() error {
	var errs []error
	if p.Wait > time.Minute {
		errs = append(errs, &jobs.ParamError{Path: []string{"wait"}, Msg: fmt.Sprintf("%v is too much: at most 1m", p.Wait)})
	}
	if p.Level != "low" && p.Level != "high" {
		errs = append(errs, fmt.Errorf("level %q is none; write low or high", p.Level))
	}
	return errors.Join(errs...)
}

// A reference that stands for what a param refuses is a mistake, and is not quoted: whether the type, a range
// or a choice refuses it. One that cannot be resolved is warned of.
func TestParamsAreCheckedWithWhatReferencesStandFor(t *testing.T) {
	registry := jobs.NewRegistry()
	jobs.Register(registry, "bounded", func(context.Context, jobs.Run, boundedParams) error { return nil })
	read := func(params string) (string, []settings.Problem) {
		file := write(t, "redis: {nodes: [redis://h]}\njobs:\n  a: {func: bounded, schedule: \"@daily\", params: {"+params+"}}\n")
		cfg, err := Read(Source{Path: file, Environ: []string{}}, registry)
		if err != nil {
			return strings.TrimPrefix(err.Error(), file), nil
		}
		return "", cfg.Warnings()
	}
	secret := write(t, "c4n4ry77\n")
	t.Setenv("T_WORD", "c4n4ry")
	t.Setenv("T_LONG", "12345s")
	t.Setenv("T_SHORT", "7s")
	t.Setenv("T_FEW", "7")
	t.Setenv("T_HIGH", "high")
	t.Setenv("T_REFERENCE", "${env:T_UNSET}")
	const refused = " is refused with what %s stands for, which is not shown"
	for params, want := range map[string]string{
		`wait: "${env:T_WORD}"`:                              ":3:57: jobs.a.params.wait:" + fmt.Sprintf(refused, "${env:T_WORD}"),
		`wait: "${file:` + secret + `}"`:                     ":3:57: jobs.a.params.wait:" + fmt.Sprintf(refused, "${file:"+secret+"}"),
		`wait: "${env:T_LONG}"`:                              ":3:57: jobs.a.params.wait:" + fmt.Sprintf(refused, "${env:T_LONG}"),
		`wait: "${plain:env:T_LONG}"`:                        ":3:57: jobs.a.params.wait: 3h25m45s is too much: at most 1m",
		`level: "${env:T_WORD}"`:                             ":3:42: jobs.a.params:" + fmt.Sprintf(refused, "${env:T_WORD}") + "; write low or high",
		`from: "${env:T_WORD}"`:                              ":3:57: jobs.a.params.from:" + fmt.Sprintf(refused, "${env:T_WORD}"),
		`sizes: {x: "1${env:T_WORD}"}`:                       ":3:62: jobs.a.params.sizes.x:" + fmt.Sprintf(refused, "${env:T_WORD}"),
		`wait: "${env:T_LONG}", text: "${env:T_UNSET}"`:      ":3:57: jobs.a.params.wait:" + fmt.Sprintf(refused, "${env:T_LONG}"),
		`count: "${env:T_FEW}"`:                              ":3:58: jobs.a.params.count: is a string: want a whole number",
		`wait: "${env:T_SHORT}", level: "${env:T_HIGH}"`:     "",
		`text: "${env:T_REFERENCE}", level: "${env:T_HIGH}"`: "",
	} {
		got, warnings := read(params)
		if want == "" && got != "" || !strings.HasPrefix(got, want) || strings.Contains(got, "c4n4ry") || len(warnings) > 0 {
			t.Errorf("%s: %q, want %q; %v", params, got, want, warnings)
		}
	}
	for _, params := range []string{`wait: "${env:T_UNSET}"`, `wait: "${env:T_UNSET}", level: "${env:T_HIGH}"`} {
		if got, warnings := read(params); got != "" || len(warnings) != 1 || !strings.Contains(warnings[0].Msg, "${env:T_UNSET}: the environment variable is not set") {
			t.Errorf("%s: %s, %v", params, got, warnings)
		}
	}
}

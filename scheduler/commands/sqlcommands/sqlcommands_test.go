package sqlcommands_test

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"testing"

	"github.com/quorate/quorate/internal/finishtx"
	"github.com/quorate/quorate/scheduler/commands"
	"github.com/quorate/quorate/scheduler/commands/sqlcommands"
)

// In a run the schema is that of the run's store: none has to be named, and another is refused.
func TestSchemaOfTheRun(t *testing.T) {
	t.Parallel()
	inRun := func(schema string) context.Context {
		return finishtx.With(t.Context(), func() (finishtx.End, error) { return finishtx.End{}, errors.New("not asked") }, schema)
	}
	for name, tt := range map[string]struct {
		ctx   context.Context
		named string
		asked string // empty: refused
	}{
		"outside of a run":            {t.Context(), "", `"quorate"`},
		"outside of a run, named":     {t.Context(), `a"b`, `"a""b"`},
		"in a run":                    {inRun(`"drift2"`), "", `"drift2"`},
		"in a run, named":             {inRun(`"drift2"`), "drift2", `"drift2"`},
		"in a run, another":           {inRun(`"drift2"`), "shop_jobs", ""},
		"in a run, the usual one":     {inRun(`"drift2"`), "quorate", ""},
		"in a run without a database": {inRun(""), "", ""},
		"in such a run, named":        {inRun(""), "shop_jobs", `"shop_jobs"`},
	} {
		asked := ""
		_, err := sqlcommands.Trigger(tt.ctx, func(_ context.Context, statement string, _ ...any) (sql.Result, error) {
			asked, _, _ = strings.Cut(strings.TrimPrefix(statement, "SELECT "), ".trigger_job(")
			return nil, nil
		}, tt.named, commands.Command{Job: "invoices"})
		wrong, _ := errors.AsType[*commands.Error](err)
		if asked != tt.asked || (wrong != nil) != (tt.asked == "") {
			t.Errorf("%s: asked schema %s, error %v; want %q", name, asked, err, tt.asked)
		}
	}
}

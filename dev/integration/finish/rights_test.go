package finish_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/quorate/quorate/dev/testkit/finishtest"
	"github.com/quorate/quorate/internal/store/single/claims"
	"github.com/quorate/quorate/scheduler/ledger"
)

// call calls finish_run with the application's role, as somebody who writes SQL.
func (r *rig) call(token uint64, owner, note, followers string) error {
	_, err := r.pool.Exec(r.Context(), r.text("SELECT {schema}.finish_run('job', $1::bigint, $2::text, $3::text::json, $4::text::json)"),
		int64(token), owner, note, followers)
	return err
}

func code(err error) string {
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		return pg.Code
	}
	return fmt.Sprint(err)
}

const (
	ended = `{"v":2,"outcome":"succeeded"}`
	none  = `[]`
)

// newPatientCase returns a run whose lease outlasts the slowest statement on a busy machine: some send megabytes.
func newPatientCase(t *testing.T) (*rig, *finishtest.Case) {
	t.Helper()
	w := newWorld(t)
	w.times = claims.Config{TTL: time.Minute, Grace: 2 * time.Minute, Timeout: 10 * time.Second}
	r := w.rig(t)
	return r, r.newCase(w.times.TTL)
}

// Who may execute finish_run and is not the run ends nothing, and learns no token.
func TestStrangersEndNothing(t *testing.T) {
	t.Parallel()
	r, c := newPatientCase(t)
	held := uint64(c.Lease.Claim().Token)
	_, owner := c.Lease.(finishtest.Settler).Database()
	if err := c.Lease.Release(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	c.Lease = c.MustClaim(1, false)
	live := uint64(c.Lease.Claim().Token)
	for _, token := range []uint64{1, held - 1, held, held + 1, live, live + 1, 1 << 62} {
		for _, as := range []string{"", "x", strings.Repeat("A", 26), owner, strings.Repeat("x", 1<<20), "%", owner + "' OR true --"} {
			err := r.call(token, as, ended, none)
			if code(err) != "QF002" && code(err) != "22023" {
				t.Errorf("token %d as %.30q: %v, want no claim", token, as, err)
			}
			if err == nil {
				t.FailNow() // the run has ended
			}
			if strings.Contains(err.Error(), fmt.Sprint(live)) && token != live {
				t.Errorf("token %d as %.30q: a stranger learns of token %d: %v", token, as, live, err)
			}
			if err := c.Lease.Extend(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	c.Wants(ledger.Running, 0)
}

// What a run sends of itself has its form and bounds, or is refused, and nothing has happened.
func TestFormsOfAnEnd(t *testing.T) {
	t.Parallel()
	r, c := newPatientCase(t)
	token := uint64(c.Lease.Claim().Token)
	_, owner := c.Lease.(finishtest.Settler).Database()
	note := func(part string) string { return `{"v":2,"outcome":"succeeded",` + part + `}` }
	beat := `{"t":1,"l":1,"d":1}`
	for name, bad := range map[string][2]string{
		"tick is a text": {note(`"tick":"abc"`), none}, "tick after all years": {note(`"tick":253402300800000`), none},
		"tick before all": {note(`"tick":-1`), none}, "tick of 30 digits": {note(`"tick":` + strings.Repeat("9", 30)), none},
		"a fraction": {note(`"tries":1.5`), none}, "an exponent": {note(`"tries":1e2`), none}, "beyond int": {note(`"tries":9223372036854775808`), none},
		"a number as text": {note(`"replica":5`), none}, "an object as text": {note(`"error":{}`), none}, "an array as error": {note(`"error":["x"]`), none},
		"a long error": {note(`"error":"` + strings.Repeat("x", 9000) + `"`), none}, "a long parent": {note(`"parent":"` + strings.Repeat("x", 9<<20) + `"`), none},
		"a reason as text": {note(`"reason":"x"`), none}, "the reason of a reason": {note(`"reason":{"c":"x","w":{"c":"y","w":{"c":1}}}`), none},
		"times of a reason": {note(`"reason":{"c":"x","t":"y"}`), none},
		"votes":             {note(`"votes":[1,2]`), none}, "rounds beyond a byte": {note(`"poll":{"n":"g","r":256}`), none},
		"a list beyond 32 bits": {note(`"poll":{"n":"g","l":4294967296}`), none}, "beats as array": {note(`"beats":[]`), none},
		"a beat":        {note(`"beats":{"n":1,"least":` + beat + `,"last":[` + beat + `,{"t":"x"}]}`), none},
		"other letters": {note(`"TICK":"abc"`), none}, "another outcome": {note(`"Outcome":"failed"`), none}, "of a later release in other letters": {note(`"V":9`), none},
		"the Kelvin sign": {note("\"tic\u212a\":\"abc\""), none}, "an escaped long s": {note(`"rea\u017fon":5`), none}, "other letters within": {note(`"votes":{"for":"x"}`), none},
		"nested": {note(`"x":` + strings.Repeat("[", 40) + strings.Repeat("]", 40)), none}, "deep": {note(`"x":` + strings.Repeat("[", 5000) + strings.Repeat("]", 5000)), none},
		"half a pair": {note(`"error":"\ud800"`), none}, "an endless number": {note(`"x":1e400`), none}, "a huge exponent": {note(`"x":1e999999`), none},
		"failed": {`{"v":2,"outcome":"failed"}`, none}, "no outcome": {`{"v":2}`, none}, "running": {`{"v":2,"outcome":"running"}`, none},
		"of a later release": {`{"v":3,"outcome":"succeeded"}`, none}, "an array": {`[]`, none}, "null": {`null`, none}, "a number": {`1`, none},
		"too long":            {note(`"x":"` + strings.Repeat("x", 300000) + `"`), none},
		"followers as object": {ended, `{}`}, "a follower as object": {ended, `[{"id":"a","job":"b","by":"root","parent":"x"}]`},
		"a long name": {ended, `["` + strings.Repeat("x", 301) + `"]`}, "many": {ended, `["a"` + strings.Repeat(`,"a"`, 100) + `]`},
		"no name": {ended, `[""]`}, "null as a name": {ended, `[null]`}, "followers null": {ended, `null`}, "a zero": {ended, `["a\u0000"]`},
	} {
		if err := r.call(token, owner, bad[0], bad[1]); code(err) != "22023" {
			t.Errorf("%s: %v, want invalid_parameter_value", name, err)
		}
		if err := c.Lease.Extend(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for _, nulls := range []string{"NULL, 1, 'x', '{}'", "'job', NULL, 'x', '{}'", "'job', 1, NULL, '{}'", "'job', 1, 'x', NULL", "'job', 1, 'x', '{}', NULL"} {
		if _, err := r.pool.Exec(t.Context(), r.text("SELECT {schema}.finish_run("+nulls+")")); code(err) != "22023" {
			t.Errorf("finish_run(%s): %v, want invalid_parameter_value", nulls, err)
		}
	}
	c.Wants(ledger.Running, 0)
	whole := note(`"tick":1,"started":0,"trigger":null,"parent":"p","later":{"x":[1]},"reason":{"c":"x","w":{"c":"y"}},"beats":{"n":1,"least":` + beat + `,"last":[` + beat + `]}`)
	if err := r.call(token, owner, whole, `["next"]`); err != nil {
		t.Fatal(err)
	}
	c.Wants(ledger.Succeeded, 0)
	if open, err := c.Cluster.Commands.Open(context.WithoutCancel(t.Context())); err != nil || len(open.Requests) != 1 {
		t.Errorf("requested are %+v, %v", open, err)
	}
}

package mysql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/quorate/quorate/dev/testkit/finishtest"
	"github.com/quorate/quorate/internal/finishtx"
	"github.com/quorate/quorate/locking/fence"
	"github.com/quorate/quorate/locking/fence/sqlfence"
	"github.com/quorate/quorate/scheduler/commands"
	"github.com/quorate/quorate/scheduler/ledger"
)

// A note is kept byte for byte, as are requests, whatever the settings of the session.
func TestFinishKeepsBytes(t *testing.T) {
	t.Parallel()
	w := newFinishWorld(t)
	text := "a\x00b\x1a'\"\\\\n%_\r\n\t" + "äß€\U0001F9E8\u2028" + strings.Repeat("\\'", 100)
	for name, change := range map[string]func(*mysql.Config){
		"prepared": nil, "interpolated": func(c *mysql.Config) { c.InterpolateParams = true },
		"utf8mb3 prepared": session("charset", "utf8mb3", false), "utf8mb3": session("charset", "utf8mb3", true),
		"latin1 prepared": session("charset", "latin1", false), "latin1": session("charset", "latin1", true),
		"ascii prepared": session("charset", "ascii", false), "binary": session("charset", "binary", true),
		"no backslashes": session("sql_mode", "'NO_BACKSLASH_ESCAPES'", true), "quotes": session("sql_mode", "'ANSI_QUOTES'", true), "lax": session("sql_mode", "''", false),
		"converted": session("collation_connection", "latin1_swedish_ci", false), "converted, interpolated": session("collation_connection", "utf16_general_ci", true),
		"at another place": session("time_zone", "'-11:00'", false), "few rows": session("sql_select_limit", "1", true), "parsed times": func(c *mysql.Config) { c.ParseTime = true },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := w.rig(t)
			c := finishtest.NewCase(t, r.place(sql.LevelDefault, change), finishtest.Calm)
			c.Text, c.Followers = text, []string{"next"}
			tx := c.Begin()
			params := []byte(`{"x":"\\'\"ä€` + "\U0001F9E8" + `"}`)
			if _, err := Trigger(t.Context(), tx.(appTx).Tx, r.database, commands.Command{ID: "b", Job: "jöb\U0001F9E8", Reason: "\\'\U0001F9E8", Params: params}); err != nil {
				t.Error(err)
			}
			if err := c.End(tx, c.Lease); err != nil {
				t.Fatal(err)
			}
			if list := c.Entries(t, "job"); len(list) != 1 || list[0].Error != text {
				t.Errorf("the ledger has %+v", list)
			}
			open := finishtest.Requests(c.T, c.Cluster)
			slices.SortFunc(open, func(a, b commands.Command) int { return strings.Compare(a.ID, b.ID) })
			if len(open) != 2 || open[0].Job != "next" || open[1].Job != "jöb\U0001F9E8" || open[1].Reason != "\\'\U0001F9E8" || string(open[1].Params) != string(params) {
				t.Errorf("requested are %+v", open)
			}
		})
	}
}

// session is a setting of sessions.
func session(name, value string, interpolate bool) func(*mysql.Config) {
	return func(c *mysql.Config) {
		c.InterpolateParams = interpolate
		if name == "charset" {
			_ = c.Apply(mysql.Charset(value, ""))
			return
		}
		c.Params = map[string]string{name: value}
	}
}

// TestFinishElsewhere gives Finish a transaction on a server that has another store with the same name, and
// a job of the name. Whatever its tokens, that is not a stale write, and no run of that store ends.
func TestFinishElsewhere(t *testing.T) {
	t.Parallel()
	w, foreign := newFinishWorld(t), newFinishWorld(t)
	for _, order := range []string{"smaller", "larger", "equal", "none", "no tables", "no rights"} {
		t.Run(order, func(t *testing.T) {
			t.Parallel()
			own := w.rigIn(t, order)
			var its *finishtest.Case
			if order == "smaller" {
				its = foreign.rigIn(t, order).newCase()
			}
			c := own.newCase()
			switch order {
			case "larger", "equal":
				its = foreign.rigIn(t, order).newCase()
			case "none":
				_ = foreign.rigIn(t, order)
			case "no tables":
				foreign.Exec(t, "CREATE DATABASE `no tables`", "GRANT ALL ON `no tables`.* TO app")
			case "no rights":
				migrate(t, foreign.Server, order)
			}
			if order == "equal" {
				foreign.setToken(t, order, uint64(its.Lease.Claim().Token), uint64(c.Lease.Claim().Token))
			}
			endsNothingOn(c, foreign, order)
			if its != nil {
				its.Wants(ledger.Running, 0)
			}
			c.MustEnd(c.Lease)
		})
	}
}

// endsNothingOn finishes the run in a transaction of another server.
func endsNothingOn(c *finishtest.Case, foreign *finishWorld, order string) {
	c.Helper()
	var stale []string
	ctx, run := c.Prepared(c.Lease)
	ctx = fence.WithObserver(ctx, func(e *fence.StaleError) { stale = append(stale, e.Error()) })
	tx, err := foreign.connect(c.T, "app", nil).BeginTx(ctx, nil)
	if err != nil {
		c.Fatal(err)
	}
	err = Finish(ctx, tx, run)
	_ = tx.Rollback()
	if err == nil || errors.Is(err, fence.ErrStale) || len(stale) > 0 || strings.Contains(err.Error(), "\n") {
		c.Fatalf("Finish = %v, and observers heard %v", err, stale)
	}
	want, says := sqlfence.ErrNoClaim, "begin the transaction in the database of the store"
	if order == "no rights" {
		want, says = nil, "store migrate --print --role"
	}
	if want != nil && !errors.Is(err, want) || !strings.Contains(err.Error(), says) {
		c.Errorf("Finish = %v, want %v and %q", err, want, says)
	}
}

// setToken replaces a token in all records of the job.
func (w *finishWorld) setToken(t *testing.T, database string, old, now uint64) {
	t.Helper()
	w.Exec(t, in(database, fmt.Sprintf("UPDATE {database}.records SET value = REPLACE(value, '%d', '%d'), sub = REPLACE(sub, '%016x', '%016x') WHERE name = 'job'", old, now, old, now)))
}

// The database of the session is not asked, whatever it has.
func TestFinishInAnotherNamespace(t *testing.T) {
	t.Parallel()
	w := newFinishWorld(t)
	own, other := w.rig(t), w.rig(t)
	c := finishtest.NewCase(t, own.place(sql.LevelDefault, func(c *mysql.Config) { c.DBName = other.database }), finishtest.Calm)
	its := other.newCase()
	c.MustEnd(c.Lease)
	c.Wants(ledger.Succeeded, 1)
	its.Wants(ledger.Running, 0)
	its.Change = func(e *finishtx.End) { e.Schema = quoted(own.database) }
	if err := its.End(its.Begin(), its.Lease); !errors.Is(err, sqlfence.ErrNoClaim) || errors.Is(err, fence.ErrStale) {
		t.Errorf("Finish in the tables of another namespace = %v", err)
	}
	its.Wants(ledger.Running, 0)
}

// Users without the rights of a replica learn what to do, and end nothing.
func TestFinishWantsRights(t *testing.T) {
	t.Parallel()
	w := newFinishWorld(t)
	r := w.rig(t)
	c := r.newCase()
	for name, grants := range map[string][]string{
		"none": nil, "reads": {"GRANT SELECT ON {database}.* TO {user}"}, "no slots": {"GRANT SELECT, INSERT, UPDATE ON {database}.records TO {user}"},
		"no inserts": {"GRANT SELECT, UPDATE ON {database}.* TO {user}"}, "a column": {"GRANT SELECT (version), UPDATE ON {database}.records TO {user}"},
	} {
		user := quoted("user " + name)
		w.Exec(t, "CREATE USER "+user+" IDENTIFIED BY 'Geheim1'")
		for _, grant := range grants {
			w.Exec(t, in(r.database, strings.ReplaceAll(grant, "{user}", user)))
		}
		db := w.connect(t, "user "+name, nil)
		tx, err := db.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		err = c.End(appTx{tx}, c.Lease)
		if err == nil || !strings.Contains(err.Error(), "quorate-mysql store migrate --print --role") || errors.Is(err, sqlfence.ErrNoClaim) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: Finish = %v, want what to do", name, err)
		}
		r.triggerWantsRights(name, db)
	}
	c.Wants(ledger.Running, 0)
	c.MustEnd(c.Lease)
}

func (r *finishRig) triggerWantsRights(name string, db *sql.DB) {
	r.Helper()
	tx, err := db.BeginTx(r.Context(), nil)
	if err != nil {
		r.Fatal(err)
	}
	_, err = Trigger(context.WithoutCancel(r.Context()), tx, r.database, commands.Command{Job: "next"})
	_ = tx.Rollback()
	if err == nil || !strings.Contains(err.Error(), "quorate-mysql store migrate --print --role") || strings.Contains(err.Error(), "\n") {
		r.Errorf("%s: Trigger = %v, want what to do", name, err)
	}
}

package commands

import (
	"slices"
	"testing"
	"time"

	"github.com/quorate/quorate/internal/store/unreadable"
	"github.com/quorate/quorate/scheduler/commands"
)

// kept is a node's data of the request with the given id, made that many seconds after the
// hour.
func kept(t *testing.T, state, id string, second int) value {
	t.Helper()
	command, err := trigger(id).Ready()
	if err != nil {
		t.Fatal(err)
	}
	command.At = noon.Add(time.Duration(second) * time.Second)
	v, err := newValue(command)
	if err != nil {
		t.Fatal(err)
	}
	if v.state = state; state == reserved {
		v.until, v.rest = noon.Add(time.Minute).UnixMilli(), "x"
	}
	return v
}

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// TestConfirmed: requests are shown when a quorum holds them, and in order.
func TestConfirmed(t *testing.T) {
	t.Parallel()
	early, late := kept(t, open, "early", 1), kept(t, open, "late", 2)
	other := kept(t, open, "other", 3)
	other.series = "trigger%20other"
	for _, tc := range []struct {
		name  string
		nodes []map[string]value
		want  []string
	}{
		{"nothing", []map[string]value{{}, {}, {}}, nil},
		{"on a quorum", []map[string]value{{"a:late": late}, {"a:late": late}, {}}, []string{"late"}},
		{"on one node", []map[string]value{{"a:late": late}, {}, {}}, nil},
		{"one on a quorum waits for an earlier one", []map[string]value{
			{"a:late": late, "a:early": early}, {"a:late": late}, {"a:late": late},
		}, nil},
		{"an earlier one does not wait", []map[string]value{
			{"a:late": late, "a:early": early}, {"a:early": early}, {},
		}, []string{"early"}},
		{"another job does not wait", []map[string]value{
			{"a:early": early, "a:other": other}, {"a:other": other}, {},
		}, []string{"other"}},
		{"one waits for a reserved instant", []map[string]value{
			{"a:late": late}, {"a:late": late}, {"a:early": kept(t, reserved, "early", 1)},
		}, nil},
		{"nor for its own", []map[string]value{
			{"a:late": late}, {"a:late": late}, {"a:late": kept(t, reserved, "late", 2)},
		}, []string{"late"}},
		{"but not for one that comes after", []map[string]value{
			{"a:early": early}, {"a:early": early}, {"a:late": kept(t, reserved, "late", 2)},
		}, []string{"early"}},
		{"one node knows that it is closed", []map[string]value{
			{"a:late": late}, {"a:late": late}, {"a:late": kept(t, closed, "late", 2)},
		}, nil},
		{"two instants, none on a quorum", []map[string]value{
			{"a:late": late}, {"a:late": kept(t, open, "late", 4)}, {},
		}, nil},
	} {
		p := merge(2, viewsOf(tc.nodes, noon.Add(10*time.Second)))
		got := p.open(nil)
		if ids := idsOf(got.Requests); !slices.Equal(ids, tc.want) {
			t.Errorf("%s: %q are open, want %q", tc.name, ids, tc.want)
		}
	}
}

// TestLapsed: a reserved instant blocks until the reservation ends, a request until it
// expires.
func TestLapsed(t *testing.T) {
	t.Parallel()
	late := kept(t, open, "late", 2)
	nodes := []map[string]value{{"a:late": late}, {"a:late": late}, {"a:early": kept(t, reserved, "early", 1)}}
	for after, want := range map[time.Duration]string{10 * time.Second: "", time.Minute: "late", 2 * time.Hour: ""} {
		got := merge(2, viewsOf(nodes, noon.Add(after))).open(nil)
		if ids := idsOf(got.Requests); len(ids) > 1 || len(ids) == 1 != (want != "") {
			t.Errorf("after %v %q are open, want %q", after, ids, want)
		}
		if expired := len(got.Expired) == 1; expired != (after > time.Hour) {
			t.Errorf("after %v have expired %q", after, idsOf(got.Expired))
		}
	}
}

// TestForeignCommands: a command of a newer release, or no command at all, harms no other; a pause stays in force.
func TestForeignCommands(t *testing.T) {
	t.Parallel()
	newer := kept(t, open, "t", 1)
	newer.rest = `{"v":2,"id":"t","kind":"trigger"}`
	paused := value{state: pauseOrResume, at: 1, series: "tag%20x", rest: "not JSON"}
	node := map[string]value{"a:t": newer, "a:other": kept(t, open, "other", 2), "p:tag%20x": paused}
	var u unreadable.Log
	got := merge(1, viewsOf([]map[string]value{node}, noon)).open(&u)
	if ids := idsOf(got.Requests); !slices.Equal(ids, []string{"other"}) || len(got.Pauses) != 1 || got.Pauses[0].Tag != "x" {
		t.Errorf("open are %+v", got)
	}
	if n, _ := u.Count(); n != 2 {
		t.Errorf("%d values were noted, want 2", n)
	}
	for _, text := range []string{"", "O", "O|1|2|3|line", "O|x|2|3|line|{}"} {
		if v, err := parseValue(text); err == nil {
			t.Errorf("%q reads as %+v", text, v)
		}
	}
	want := kept(t, open, "t", 1)
	want.rest = `{"reason":"a|b"}`
	if v, err := parseValue(want.String()); err != nil || v != want {
		t.Errorf("parseValue = %+v, %v, want %+v", v, err, want)
	}
}

func viewsOf(nodes []map[string]value, now time.Time) []view {
	var views []view
	for _, values := range nodes {
		views = append(views, view{now: now.UnixMilli(), vouches: true, values: values})
	}
	return views
}

func idsOf(commands []commands.Command) []string {
	var ids []string
	for _, a := range commands {
		ids = append(ids, a.ID)
	}
	return ids
}

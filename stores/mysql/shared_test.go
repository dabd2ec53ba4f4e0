package mysql

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/quorate/quorate/internal/store/single/kv"
	"github.com/quorate/quorate/stores/mysql/internal/mysqltest"
)

// keyX is a key that many tests use.
var keyX = kv.Key{Kind: kv.Claims, Name: "x"}

// TestServer runs what needs a server, and changes its settings, one after the other.
func TestServer(t *testing.T) {
	t.Parallel()
	w, on := newWorld(t)
	_ = w.Open(t, "shared")
	for name, test := range map[string]func(*testing.T, *mysqltest.Server){
		"RefusedSettings": refusedSettings, "ServicesSessions": servicesSessions,
		"Migrate": migrateAgain, "MigrateAtOnce": migrateAtOnce, "MigrateAfterACrash": migrateAfterACrash, "Script": script,
		"OthersTables": othersTables, "NotMigrated": notMigrated, "CheckNamesProgram": checkNamesProgram, "NewerTables": newerTables, "Engines": engines,
		"Rights": rights, "Logins": logins, "Full": exhausted, "Locked": locked, "Lost": lost, "Silent": silent, "Pauses": pauses,
		"Views": views, "ViewsAgree": viewsAgree, "ViewsReadOneJob": viewsReadOneJob,
	} {
		t.Run(name, func(t *testing.T) { test(t, on) })
	}
}

// write puts a value under keyX.
func write(tb testing.TB, s kv.Store, value string) kv.Outcome {
	tb.Helper()
	_, stamp, err := s.Read(tb.Context(), keyX)
	if err != nil {
		tb.Fatal(err)
	}
	o, err := s.Commit(tb.Context(), kv.Txn{Incarnation: stamp.Incarnation, Put: []kv.Write{{Key: keyX, Value: json.RawMessage(value)}}})
	if err != nil || !o.Won {
		tb.Fatalf("Commit = %+v, %v", o, err)
	}
	return o
}

// wants checks the value under keyX.
func wants(tb testing.TB, s kv.Store, value string) {
	tb.Helper()
	list, _, err := s.Read(tb.Context(), keyX)
	if err != nil || string(list[0].Value) != value {
		tb.Errorf("Read = %+v, %v, want %q", list, err, value)
	}
}

// withoutSecrets checks that an error tells no password.
func withoutSecrets(tb testing.TB, err error) {
	tb.Helper()
	if err != nil && strings.Contains(err.Error(), "Geheim") {
		tb.Errorf("a secret is told: %v", err)
	}
}

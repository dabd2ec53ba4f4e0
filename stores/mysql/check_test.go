package mysql

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/quorate/quorate/dev/testkit/kvtest"
	"github.com/quorate/quorate/internal/store/single/kv"
	"github.com/quorate/quorate/stores/mysql/internal/mysqltest"
)

// onMySQL are the settings of a MySQL 8.4 as its manual has them, and onMariaDB those of a real server.
func onMySQL() variables {
	return variables{
		"version": "8.4.3", "innodb_flush_log_at_trx_commit": "1", "innodb_flush_method": "O_DIRECT", "log_bin": "ON", "sql_log_bin": "ON",
		"sync_binlog": "1", "binlog_format": "ROW", "read_only": "OFF", "super_read_only": "OFF", "innodb_read_only": "OFF",
		"transaction_isolation": "READ-COMMITTED", "transaction_read_only": "OFF", "autocommit": "ON", "completion_type": "NO_CHAIN",
		"sql_mode": "STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION", "sql_select_limit": "18446744073709551615",
		"max_allowed_packet": "67108864", "max_execution_time": "0", "innodb_doublewrite": "ON",
	}
}

func onMariaDB() variables {
	s := onMySQL()
	maps.DeleteFunc(s, func(name, _ string) bool {
		return strings.HasPrefix(name, "transaction_") || name == "super_read_only" || name == "max_execution_time"
	})
	maps.Copy(s, variables{
		"version": "10.11.19-MariaDB-0+deb12u1-log", "binlog_format": "MIXED", "tx_isolation": "READ-COMMITTED", "tx_read_only": "OFF",
		"max_statement_time": "0.000000", "max_allowed_packet": "16777216", "wsrep_on": "OFF",
	})
	return s
}

// Each setting that is not as it has to be is named, with what to do.
func TestSettingsAreJudged(t *testing.T) {
	t.Parallel()
	for product, base := range map[string]func() variables{"MySQL": onMySQL, "MariaDB": onMariaDB} {
		for _, own := range []bool{true, false} {
			if err := base().check(own, time.Second); err != nil {
				t.Errorf("%s: %v", product, err)
			}
		}
		isolation, readOnly := "tx_isolation", "tx_read_only"
		if product == "MySQL" {
			isolation, readOnly = "transaction_isolation", "transaction_read_only"
		}
		for _, setting := range [][3]string{
			{"innodb_flush_log_at_trx_commit", "2", "SET GLOBAL innodb_flush_log_at_trx_commit = 1"},
			{"innodb_flush_log_at_trx_commit", "0", ""},
			{"innodb_flush_method", "nosync", "remove it"},
			{"sync_binlog", "0", "SET GLOBAL sync_binlog = 1"},
			{"sync_binlog", "1000", ""},
			{"binlog_format", "STATEMENT", "'ROW'"},
			{"sql_log_bin", "OFF", "replicas lack"},
			{"read_only", "ON", "primary"},
			{"super_read_only", "ON", "primary"},
			{"innodb_read_only", "ON", "primary"},
			{"read_only", "NO_LOCK_NO_ADMIN", "primary"}, // MariaDB 12
			{isolation, "REPEATABLE-READ", "READ-COMMITTED"},
			{readOnly, "ON", "OFF"},
			{"autocommit", "OFF", "ON"},
			{"completion_type", "CHAIN", "NO_CHAIN"},
			{"sql_safe_updates", "ON", "OFF"},
			{"innodb_page_size", "8192", "16384"},
			{"sql_select_limit", "100", "18446744073709551615"},
			{"sql_mode", "NO_ENGINE_SUBSTITUTION", "STRICT_TRANS_TABLES"},
			{"sql_mode", "STRICT_TRANS_TABLES,NO_BACKSLASH_ESCAPES", "NO_BACKSLASH_ESCAPES"},
			{"sql_mode", "ANSI_QUOTES,STRICT_ALL_TABLES", "ANSI_QUOTES"},
			{"sql_mode", "STRICT_TRANS_TABLES,EMPTY_STRING_IS_NULL", "EMPTY_STRING_IS_NULL"},
			{"max_allowed_packet", "1048576", "SET GLOBAL max_allowed_packet = 16777216"},
			{"wsrep_on", "ON", "Galera"},
			{"group_replication_single_primary_mode", "OFF", "one primary"},
			{"max_statement_time", "0.5", "1s"},
			{"max_execution_time", "500", "1s"},
		} {
			s := base()
			s[setting[0]] = setting[1]
			kind := kv.ErrNotReady
			if strings.HasSuffix(setting[0], "read_only") && setting[0] != readOnly {
				kind = kv.ErrNotSent
			}
			if err := s.check(false, time.Second); !errors.Is(err, kind) || !strings.Contains(err.Error(), setting[0]) || !strings.Contains(err.Error(), setting[2]) {
				t.Errorf("%s with %s = %s: %v, want its name, %q and %v", product, setting[0], setting[1], err, setting[2], kind)
			}
		}
	}
}

// A server that does not tell capitals in names of databases apart takes none.
func TestNamesAreApart(t *testing.T) {
	t.Parallel()
	for _, value := range []string{"0", "1", "2"} {
		s := variables{"lower_case_table_names": value}
		if err := s.checkNames("billing"); err != nil {
			t.Error(err)
		}
		if err := s.checkNames("Billing"); (err == nil) != (value == "0") || err != nil && !errors.Is(err, kv.ErrNotReady) {
			t.Errorf("%s: %v", value, err)
		}
	}
}

// Releases for which nothing was written are refused.
func TestReleases(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]string{
		"5.7.44": "MySQL 5.7.44", "10.6.20-MariaDB": "MariaDB 10.6.20", "5.5.5-10.4.3-MariaDB-log": "MariaDB 10.4.3", "": "neither",
		"8.0.11": "", "9.1.0-cluster": "", "10.11.2-MariaDB": "", "11.4.5-MariaDB-ubu2404": "", "8.0.36-28": "",
	} {
		s := onMySQL()
		if isMariaDB(version) {
			s = onMariaDB()
		}
		s["version"] = version
		switch err := s.check(true, time.Second); {
		case want == "" && err != nil:
			t.Errorf("%s: %v", version, err)
		case want != "" && (!errors.Is(err, kv.ErrNotReady) || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: %v, want %q", version, err, want)
		}
	}
}

// What the promotion of a replica may forget is told. The states are those of a primary.
func TestReplicasAreTold(t *testing.T) {
	t.Parallel()
	semi := variables{"rpl_semi_sync_master_enabled": "ON", "rpl_semi_sync_master_timeout": "3600000", "rpl_semi_sync_master_wait_point": "AFTER_SYNC"}
	with := func(base variables, name, value string) variables {
		base = maps.Clone(base)
		base[name] = value
		return base
	}
	on := variables{"rpl_semi_sync_master_status": "ON", "rpl_semi_sync_master_clients": "2"}
	for _, c := range []struct {
		found, status variables
		want          string
	}{
		{variables{"log_bin": "OFF"}, variables{"slaves_connected": "0"}, ""},
		{variables{}, variables{"slaves_connected": "0"}, ""},
		{variables{}, variables{"slaves_connected": "2"}, "2 replicas are asynchronous"},
		{variables{}, variables{}, "if this server has replicas"},
		{semi, on, "2 semi-synchronous replicas"},
		{semi, with(on, "rpl_semi_sync_master_status", "OFF"), "not in use"},
		{semi, with(on, "rpl_semi_sync_master_clients", "0"), "commits wait"},
		{with(semi, "rpl_semi_sync_master_timeout", "10000"), on, "rpl_semi_sync_master_timeout is 10000 ms"},
		{with(semi, "rpl_semi_sync_master_wait_point", "AFTER_COMMIT"), on, "AFTER_SYNC"},
		{
			variables{"rpl_semi_sync_source_enabled": "ON", "rpl_semi_sync_source_timeout": "10000", "rpl_semi_sync_source_wait_point": "AFTER_SYNC"},
			variables{"rpl_semi_sync_source_status": "ON", "rpl_semi_sync_source_clients": "1"},
			"rpl_semi_sync_source_timeout is 10000 ms",
		},
	} {
		if c.found["log_bin"] == "" {
			c.found = with(c.found, "log_bin", "ON")
		}
		if got := aboutReplicas(c.found, c.status); c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%v, %v: %q, want %q", c.found, c.status, got, c.want)
		}
	}
}

func refusedSettings(t *testing.T, on *mysqltest.Server) {
	for _, setting := range []struct {
		name, value string
		kind        error
	}{
		{"innodb_flush_log_at_trx_commit", "2", kv.ErrNotReady},
		{"sync_binlog", "0", kv.ErrNotReady},
		{"binlog_format", "'STATEMENT'", kv.ErrNotReady},
		{"max_allowed_packet", "1048576", kv.ErrNotReady},
		{"read_only", "1", kv.ErrNotSent},
	} {
		before := on.Value(t, "SELECT @@GLOBAL."+setting.name, "")
		on.Exec(t, "SET GLOBAL "+setting.name+" = "+setting.value)
		s := opened(t, source{fresh: at(as(on, "replica", "Geheim1")), database: "shared"})
		_, _, read := s.Read(t.Context(), keyX)
		_, commit := s.Commit(t.Context(), kv.Txn{Put: []kv.Write{{Key: keyX, Value: json.RawMessage(`1`)}}})
		_, check := s.Check(t.Context())
		_, migrate := s.Migrate(t.Context())
		_, version := s.Version(t.Context())
		for _, err := range []error{read, commit, check, migrate, version} {
			if !errors.Is(err, setting.kind) || kv.Unknown(err) || !strings.Contains(err.Error(), setting.name) {
				t.Errorf("%s: %v, want its name, and %v", setting.name, err, setting.kind)
			}
		}
		if before == "0" || before == "1" || strings.Trim(before, "0123456789") == "" {
			on.Exec(t, "SET GLOBAL "+setting.name+" = "+before)
		} else {
			on.Exec(t, "SET GLOBAL "+setting.name+" = '"+before+"'")
		}
		if _, _, err := s.Read(t.Context(), keyX); err != nil {
			t.Errorf("%s as it was: %v", setting.name, err)
		}
	}
}

// Odd is settings of a server that change what statements of a session mean, or how long they may take.
func odd() []string {
	return []string{
		"sql-mode=ANSI_QUOTES,NO_BACKSLASH_ESCAPES,EMPTY_STRING_IS_NULL,SIMULTANEOUS_ASSIGNMENT,PIPES_AS_CONCAT", "default-time-zone=+05:45",
		"transaction-isolation=SERIALIZABLE", "completion-type=CHAIN", "autocommit=0", "innodb-lock-wait-timeout=50",
		"character-set-server=latin1", "max-statement-time=0.0001", "binlog-format=MIXED",
		"init-connect=SET sql_safe_updates = 1, sql_select_limit = 1, timestamp = 7, tx_read_only = 1",
	}
}

// Settings of the server that are only defaults of sessions change nothing of what the store does. With
// binlog_format MIXED rows are logged.
func TestOddSettings(t *testing.T) {
	t.Parallel()
	w, on := newWorld(t, odd()...)
	kvtest.Run(t, kvtest.Backend{Rounds: 100, New: func(tb testing.TB) kv.Store {
		tb.Helper()
		return w.Open(tb, fmt.Sprintf("odd %d", time.Now().UnixNano()))
	}})
	_, stamp, err := w.Open(t, "clock").Read(t.Context(), keyX)
	if err != nil || time.Since(stamp.Now).Abs() > time.Hour {
		t.Errorf("the clock of the server says %v, %v", stamp.Now, err)
	}
	var rows, texts int
	list, err := on.DB(t).QueryContext(t.Context(), "SHOW BINLOG EVENTS IN 'binlog.000001' LIMIT 100000")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = list.Close() }()
	for list.Next() {
		var columns [6]sql.NullString
		if err := list.Scan(&columns[0], &columns[1], &columns[2], &columns[3], &columns[4], &columns[5]); err != nil {
			t.Fatal(err)
		}
		switch kind, text := columns[2].String, columns[5].String; {
		case strings.HasPrefix(kind, "Write_rows"), strings.HasPrefix(kind, "Update_rows"):
			rows++
		case kind == "Query" && (strings.Contains(text, "records (") || strings.Contains(text, "UPDATE ")) && !strings.Contains(text, "CREATE") && !strings.Contains(text, "GRANT"):
			texts++
			t.Error(text)
		}
	}
	if rows < 100 || texts > 0 {
		t.Errorf("%d changes were logged as rows, and %d as texts", rows, texts)
	}
}

// The sessions of a service are checked, and not changed.
func servicesSessions(t *testing.T, on *mysqltest.Server) {
	service := func(options string) *sql.DB {
		db, err := sql.Open("mysql", "replica:Geheim1@tcp("+on.Addr()+")/?"+options)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = db.Close() })
		return db
	}
	for _, interpolated := range []string{"true", "false"} {
		db := service("transaction_isolation=%27READ-COMMITTED%27&interpolateParams=" + interpolated)
		if on.Value(t, "SELECT @@version LIKE '10.%'", "") == "1" {
			db = service("tx_isolation=%27READ-COMMITTED%27&interpolateParams=" + interpolated)
		}
		db.SetMaxOpenConns(9)
		s := opened(t, source{db: db, database: "shared", timeout: 5 * time.Second})
		write(t, s, `"service"`)
		wants(t, s, `"service"`)
		if c, err := s.Check(t.Context()); err != nil || !strings.HasPrefix(c.Version, "MariaDB ") {
			t.Errorf("Check = %+v, %v", c, err)
		}
		s.Close()
		if err := db.PingContext(t.Context()); err != nil {
			t.Errorf("the connections of the service: %v", err)
		}
	}
	for name, options := range map[string]string{
		"tx_isolation": "", "autocommit": "autocommit=0&tx_isolation=%27READ-COMMITTED%27", "sql_mode": "sql_mode=%27%27&tx_isolation=%27READ-COMMITTED%27",
		"max_statement_time": "max_statement_time=0.1&tx_isolation=%27READ-COMMITTED%27", "sql_select_limit": "sql_select_limit=9&tx_isolation=%27READ-COMMITTED%27",
	} {
		s := opened(t, source{db: service(options), database: "shared", timeout: 5 * time.Second})
		if _, _, err := s.Read(t.Context(), keyX); !errors.Is(err, kv.ErrNotReady) || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), "*sql.DB") {
			t.Errorf("%s: %v, want its name", name, err)
		}
	}
}

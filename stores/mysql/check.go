package mysql

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// readSettings reads what variables has. Servers leave out what they do not know.
const readSettings = `SHOW VARIABLES WHERE Variable_name IN ('version', 'hostname', 'port', 'server_id', 'server_uuid', 'lower_case_table_names', 'sql_safe_updates', 'innodb_page_size',
	'innodb_flush_log_at_trx_commit', 'innodb_flush_method', 'log_bin', 'sql_log_bin', 'sync_binlog', 'binlog_format',
	'read_only', 'super_read_only', 'innodb_read_only', 'transaction_isolation', 'tx_isolation', 'transaction_read_only', 'tx_read_only',
	'autocommit', 'completion_type', 'sql_mode', 'sql_select_limit', 'max_allowed_packet', 'max_statement_time', 'max_execution_time',
	'wsrep_on', 'group_replication_single_primary_mode', 'innodb_doublewrite',
	'rpl_semi_sync_master_enabled', 'rpl_semi_sync_source_enabled', 'rpl_semi_sync_master_timeout', 'rpl_semi_sync_source_timeout',
	'rpl_semi_sync_master_wait_point', 'rpl_semi_sync_source_wait_point')`

// leastPacket holds the largest transaction, with its texts escaped.
const leastPacket = 16 << 20

// The oldest releases for which this was written. Only MariaDB 10.11 was tried.
const (
	oldestMySQL   = "8.0"
	oldestMariaDB = "10.11"
)

// variables are the settings of a session and of its server, by name.
type variables map[string]string

func (s variables) add(name, value string) { s[strings.ToLower(name)] = value }

// mariaDB reports whether the server is MariaDB.
func (s variables) mariaDB() bool { return isMariaDB(s["version"]) }

// isMariaDB reports whether a version is one of MariaDB. Its releases have no other sign that both
// have.
func isMariaDB(version string) bool { return strings.Contains(strings.ToLower(version), "mariadb") }

// server is what people call the server, with its version.
func (s variables) server() string {
	version, _, _ := strings.Cut(strings.TrimPrefix(s["version"], "5.5.5-"), "-") // MariaDB may add that for old clients
	if s.mariaDB() {
		return "MariaDB " + version
	}
	return "MySQL " + version
}

// first is the value of the first of the names that the server knows.
func (s variables) first(names ...string) (name, value string) {
	for _, name := range names {
		if value, known := s[name]; known {
			return name, value
		}
	}
	return names[0], ""
}

// unsuitable is an error that says which setting has to change. It matches [kv.ErrNotReady].
func unsuitable(format string, args ...any) error {
	return meaning{fmt.Errorf(format, args...), errNotReady}
}

// leastPage is the size of a page whose keys may be as long as those of records.
const leastPage = 16 << 10

// checkNames refuses a server on which the database of this namespace may be that of another one, too.
func (s variables) checkNames(database string) error {
	if value := s["lower_case_table_names"]; value != "" && value != "0" && strings.ToLower(database) != database {
		return unsuitable("lower_case_table_names is %s, so namespaces that differ only in capitals would be one cluster: write the namespace %s in small letters", value, database)
	}
	return nil
}

// check refuses a server that may forget what it has committed, or whose commits do not exclude each
// other, and a session in which statements would have other results. Own says that the session was made by
// the Store.
func (s variables) check(own bool, timeout time.Duration) error {
	for _, judge := range []func() error{
		s.checkRelease, s.checkWrites, s.checkFlushes, s.checkBinlog, s.checkClusters,
		func() error { return s.checkSession(own) }, func() error { return s.checkLimits(own, timeout) },
	} {
		if err := judge(); err != nil {
			return err
		}
	}
	return nil
}

func (s variables) checkRelease() error {
	oldest := oldestMySQL
	if s.mariaDB() {
		oldest = oldestMariaDB
	}
	if s["version"] == "" {
		return unsuitable("the server does not show its settings: it is neither MySQL nor MariaDB, or sql_select_limit hides them in the sessions of the *sql.DB")
	}
	if slices.Compare(numbers(s.server()), numbers(oldest)) < 0 {
		return unsuitable("the server is %s, and has to be %s or later: upgrade it", s.server(), oldest)
	}
	return nil
}

// numbers are those of a version.
func numbers(version string) (list []int) {
	for part := range strings.SplitSeq(version[strings.LastIndexByte(version, ' ')+1:], ".") {
		n, _ := strconv.Atoi(part) // what is no number is the end of a version
		list = append(list, n)
	}
	return list
}

// checkWrites refuses a server that only reads: also one whose user may write all the same.
func (s variables) checkWrites() error {
	for _, name := range []string{"read_only", "super_read_only", "innodb_read_only"} {
		if value := s[name]; value != "" && !isOff(value) {
			return meaning{fmt.Errorf("this server only reads: %s is %s. It is a replica, or was one: connect to the primary", name, value), errNotSent}
		}
	}
	return nil
}

func isOff(value string) bool { return value == "" || value == "0" || strings.EqualFold(value, "OFF") }

// checkFlushes refuses a server that answers before a commit is on its disk.
func (s variables) checkFlushes() error {
	if value := s["innodb_flush_log_at_trx_commit"]; value != "1" {
		return unsuitable("innodb_flush_log_at_trx_commit is %s, so a crash loses commits and ticks run twice: run SET GLOBAL innodb_flush_log_at_trx_commit = 1, and write it to the server's configuration", value)
	}
	if value := strings.ToLower(s["innodb_flush_method"]); value == "nosync" || value == "littlesync" {
		return unsuitable("innodb_flush_method is %s, so a crash loses commits and ticks run twice: remove it from the server's configuration", value)
	}
	return nil
}

// checkBinlog refuses a server whose recovery, or whose replicas, may lack what was committed. At READ
// COMMITTED, MIXED logs rows too.
func (s variables) checkBinlog() error {
	if isOff(s["log_bin"]) {
		return nil
	}
	if value := s["sync_binlog"]; value != "1" {
		return unsuitable("sync_binlog is %s, so a crash loses commits and ticks run twice: run SET GLOBAL sync_binlog = 1, and write it to the server's configuration", value)
	}
	if strings.EqualFold(s["binlog_format"], "STATEMENT") {
		return unsuitable("binlog_format is STATEMENT, with which the server refuses the writes of READ COMMITTED: run SET GLOBAL binlog_format = 'ROW', and write it to the server's configuration")
	}
	if isOff(s["sql_log_bin"]) && s["sql_log_bin"] != "" {
		return unsuitable("sql_log_bin is OFF for this session, so replicas lack its commits: remove it from init_connect, or from the settings of the service")
	}
	return nil
}

// checkClusters refuses servers that write at several places. Such clusters compare what was written
// when they commit, but not what was only read.
func (s variables) checkClusters() error {
	if value := s["wsrep_on"]; !isOff(value) {
		return unsuitable("wsrep_on is %s: Galera compares at a commit what was written, not what was read, so ticks could run twice. Use a server with asynchronous or semi-synchronous replicas", value)
	}
	if value, known := s["group_replication_single_primary_mode"]; known && isOff(value) {
		return unsuitable("group_replication_single_primary_mode is %s: with several primaries, a commit compares what was written, not what was read, so ticks could run twice. Switch the group to one primary", value)
	}
	return nil
}

// checkSession refuses a session in which statements would fail, or have other results. The Store sets its
// own ones; a pooler may have undone that.
func (s variables) checkSession(own bool) error {
	remedy := "set it so for all sessions of the *sql.DB"
	if own {
		remedy = "a proxy before the server changes it: connect to the server itself"
	}
	isolation, level := s.first("transaction_isolation", "tx_isolation")
	reads, readOnly := s.first("transaction_read_only", "tx_read_only")
	for _, rule := range []struct {
		name, value, wanted string
		good                bool
	}{
		{isolation, level, "READ-COMMITTED", level == "READ-COMMITTED"},
		{reads, readOnly, "OFF", isOff(readOnly)},
		{"autocommit", s["autocommit"], "ON", !isOff(s["autocommit"])},
		{"completion_type", s["completion_type"], "NO_CHAIN", s["completion_type"] == "NO_CHAIN"},
		{"sql_safe_updates", s["sql_safe_updates"], "OFF", isOff(s["sql_safe_updates"])},
		{"sql_select_limit", s["sql_select_limit"], "18446744073709551615", s["sql_select_limit"] == "18446744073709551615"},
	} {
		if !rule.good {
			return unsuitable("%s is %s for this session, and has to be %s: %s", rule.name, rule.value, rule.wanted, remedy)
		}
	}
	modes := strings.Split(s["sql_mode"], ",")
	if !slices.Contains(modes, "STRICT_TRANS_TABLES") && !slices.Contains(modes, "STRICT_ALL_TABLES") {
		return unsuitable("sql_mode is %q for this session, and has to contain STRICT_TRANS_TABLES: %s", s["sql_mode"], remedy)
	}
	for _, mode := range []string{"NO_BACKSLASH_ESCAPES", "ANSI_QUOTES", "EMPTY_STRING_IS_NULL", "SIMULTANEOUS_ASSIGNMENT", "ORACLE"} {
		if slices.Contains(modes, mode) {
			return unsuitable("sql_mode contains %s for this session, which changes what statements mean: remove it, and %s", mode, remedy)
		}
	}
	return nil
}

// checkLimits refuses limits below what calls need.
func (s variables) checkLimits(own bool, timeout time.Duration) error {
	if n, _ := strconv.Atoi(s["max_allowed_packet"]); n < leastPacket {
		return unsuitable("max_allowed_packet is %d, and has to be at least %d: run SET GLOBAL max_allowed_packet = %[2]d, and write it to the server's configuration", n, leastPacket)
	}
	if n, err := strconv.Atoi(s["innodb_page_size"]); err == nil && n < leastPage {
		return unsuitable("innodb_page_size is %d, and has to be at least %d for the keys of records: it cannot be changed, so use a server with larger pages", n, leastPage)
	}
	if own {
		return nil
	}
	for name, unit := range map[string]time.Duration{"max_statement_time": time.Second, "max_execution_time": time.Millisecond} {
		n, _ := strconv.ParseFloat(s[name], 64) // it is a number, or not there
		if limit := time.Duration(n * float64(unit)); limit > 0 && limit < timeout {
			return unsuitable("%s is %s for this session, and has to be 0 or more than %v: set it so for all sessions of the *sql.DB", name, s[name], timeout)
		}
	}
	return nil
}

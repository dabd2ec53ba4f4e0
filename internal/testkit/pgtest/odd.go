package pgtest

import "strings"

// Odd is the SQL that gives a role or a database, such as "ROLE app", settings that change what
// statements mean or return.
func Odd(of string) string {
	var all strings.Builder
	for _, setting := range []string{
		`DateStyle = 'German, DMY'`, `IntervalStyle = 'sql_standard'`, `TimeZone = 'Asia/Kathmandu'`, `bytea_output = 'escape'`,
		`extra_float_digits = -15`, `search_path = odd, pg_catalog`, `session_replication_role = 'replica'`, `row_security = off`,
		`standard_conforming_strings = off`, `escape_string_warning = off`, `backslash_quote = on`, `array_nulls = off`,
		`transform_null_equals = on`, `quote_all_identifiers = on`, `plan_cache_mode = 'force_custom_plan'`, `enable_indexscan = off`,
		`default_transaction_deferrable = on`, `check_function_bodies = off`, `client_min_messages = 'debug1'`, `synchronous_commit = off`,
		`quorate.system_identifier = '1'`, `work_mem = 64`, `temp_file_limit = 0`, `enable_bitmapscan = off`, `enable_indexonlyscan = off`,
		`enable_sort = off`, `enable_nestloop = off`, `enable_hashjoin = off`, `enable_mergejoin = off`, `jit_above_cost = 0`,
		`jit_inline_above_cost = 0`, `jit_optimize_above_cost = 0`, `geqo_threshold = 2`, `join_collapse_limit = 1`, `xmlbinary = 'hex'`,
		`idle_session_timeout = '5s'`, `exit_on_error = on`, `log_statement = 'all'`,
	} {
		all.WriteString("ALTER " + of + " SET " + setting + ";\n")
	}
	return all.String()
}

// OddFunctions is the SQL that makes functions which are found in place of those of PostgreSQL, with
// the settings of Odd, if statements do not name their schema.
const OddFunctions = `CREATE SCHEMA odd;
GRANT USAGE ON SCHEMA odd TO PUBLIC;
CREATE FUNCTION odd.regexp_replace(text, text, text, text) RETURNS text LANGUAGE sql AS 'SELECT $$odd$$';
CREATE FUNCTION odd.current_setting(text) RETURNS text LANGUAGE sql AS 'SELECT $$odd$$';
CREATE FUNCTION odd.hashtextextended(text, bigint) RETURNS bigint LANGUAGE sql AS 'SELECT 1/0';
CREATE FUNCTION odd.clock_timestamp() RETURNS timestamptz LANGUAGE sql AS 'SELECT $$epoch$$::timestamptz';
`

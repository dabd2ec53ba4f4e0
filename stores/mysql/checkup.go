package mysql

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"time"

	"github.com/quorate/quorate/internal/store/single/kv"
)

// Check implements [kv.Server].
func (s *server) Check(ctx context.Context) (kv.Checkup, error) {
	found, status, err := s.look(ctx)
	if err != nil {
		return kv.Checkup{}, failure(ctx, s.database, "check", err)
	}
	c := kv.Checkup{Version: found.server()}
	find := func(topic string, mend bool, text string) {
		c.Findings = append(c.Findings, kv.Finding{Topic: topic, Mend: mend, Text: text})
	}
	if isOff(found["innodb_doublewrite"]) {
		find("durability", true, "innodb_doublewrite is OFF: a crash of the machine may spoil pages, unless its file system writes them whole; set it to ON")
	}
	if text := aboutReplicas(found, status); text != "" {
		find("replicas", false, text)
	}
	return c, nil
}

// look reads the settings of a session, with the state of replication, and refuses what calls would refuse.
func (s *server) look(ctx context.Context) (found, status variables, err error) {
	conn, err := s.connection(ctx)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = conn.Close() }()
	if found, err = readAll(ctx, conn, readSettings); err == nil {
		err = s.judge(found)
	}
	if err == nil {
		err = s.checkTables(ctx, conn)
	}
	if err == nil {
		status, err = readAll(ctx, conn, readStatus)
	}
	return found, status, err
}

// readStatus reads how the server is replicated, as far as that takes no right.
const readStatus = `SHOW GLOBAL STATUS WHERE Variable_name IN ('Slaves_connected',
	'Rpl_semi_sync_master_status', 'Rpl_semi_sync_source_status', 'Rpl_semi_sync_master_clients', 'Rpl_semi_sync_source_clients')`

// readAll reads names with values.
func readAll(ctx context.Context, conn *sql.Conn, statement string) (variables, error) {
	rows, err := conn.QueryContext(ctx, statement)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	found := variables{}
	for rows.Next() {
		var name, value string
		if err := rows.Scan(&name, &value); err != nil {
			return nil, err
		}
		found.add(name, value)
	}
	return found, rows.Err()
}

// longTimeout is how long semi-synchronous replication should wait at least for a replica, before it goes on
// without.
const longTimeout = time.Hour

// aboutReplicas says what the promotion of a replica may forget; "" if there is none. MySQL does not say
// how many follow a server, to those who have no rights to that.
func aboutReplicas(found, status variables) string {
	if isOff(found["log_bin"]) {
		return ""
	}
	const fence = "Before one is promoted, stop this server, or set read_only = 1 here and end its connections"
	_, enabled := found.first("rpl_semi_sync_master_enabled", "rpl_semi_sync_source_enabled")
	if isOff(enabled) {
		switch connected, known := status["slaves_connected"]; {
		case connected == "0":
			return ""
		case known:
			return fmt.Sprintf("%s replicas are asynchronous: the promotion of one may forget the last commits, also of the ledger. %s; then no tick runs twice, and none runs for failover_grace. "+
				"With semi-synchronous replication nothing is forgotten", connected, fence)
		}
		return "if this server has replicas, they are asynchronous: the promotion of one may forget the last commits, also of the ledger. " + fence
	}
	waits, millis := found.first("rpl_semi_sync_master_timeout", "rpl_semi_sync_source_timeout")
	pointName, point := found.first("rpl_semi_sync_master_wait_point", "rpl_semi_sync_source_wait_point")
	_, state := status.first("rpl_semi_sync_master_status", "rpl_semi_sync_source_status")
	_, clients := status.first("rpl_semi_sync_master_clients", "rpl_semi_sync_source_clients")
	n, _ := strconv.ParseInt(millis, 10, 64) // it is a number
	switch {
	case isOff(state):
		return fmt.Sprintf("semi-synchronous replication is enabled and not in use, with %s replicas: the promotion of one may forget commits. %s", clients, fence)
	case clients == "0":
		return "semi-synchronous replication has no replica, so commits wait: connect one"
	case point != "AFTER_SYNC":
		return fmt.Sprintf("%s is %s: others see a commit before a replica has it, so a promotion may forget what was seen; set it to AFTER_SYNC", pointName, point)
	case time.Duration(n)*time.Millisecond < longTimeout:
		return fmt.Sprintf("%s is %s ms: after that commits no longer wait for a replica, and a promotion may forget them; raise it to %d, so that nothing is committed without a replica. %s", waits, millis, longTimeout.Milliseconds(), fence)
	}
	return fmt.Sprintf("%s semi-synchronous replicas: if one of them is promoted when it has applied all that it received, nothing is forgotten. %s", clients, fence)
}

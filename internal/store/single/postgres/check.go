package postgres

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strconv"

	"github.com/jackc/pgx/v5"

	"github.com/quorate/quorate/internal/store/single/kv"
)

// oldestServer is the oldest release whose tests have passed, as the server numbers it.
const oldestServer = 150000

const serverSettings = `SELECT s.version, s.number, s.fsync, s.pages, s.standbys, (SELECT pg_catalog.count(*) FROM pg_catalog.pg_stat_replication)
	FROM (SELECT pg_catalog.current_setting('server_version'), pg_catalog.current_setting('server_version_num')::int,
		pg_catalog.current_setting('fsync')::bool, pg_catalog.current_setting('full_page_writes')::bool,
		pg_catalog.current_setting('synchronous_standby_names')) AS s(version, number, fsync, pages, standbys)`

// Name is the address of the server and its database.
func (s *Store) Name() string { return s.servers()[0] + "/" + s.pool.Config().ConnConfig.Database }

// servers are the addresses of the servers, as the URL has them.
func (s *Store) servers() []string {
	c := s.pool.Config().ConnConfig
	list := []string{net.JoinHostPort(c.Host, strconv.Itoa(int(c.Port)))}
	for _, other := range c.Fallbacks {
		if at := net.JoinHostPort(other.Host, strconv.Itoa(int(other.Port))); !slices.Contains(list, at) {
			list = append(list, at)
		}
	}
	return list
}

// Check implements [kv.Server].
func (s *Store) Check(ctx context.Context) (kv.Checkup, error) {
	conn, err := s.acquire(ctx)
	if err == nil {
		defer conn.Release()
		s.checked.Store(false) // settings may have changed since
		err = s.check(ctx, conn)
	}
	if err != nil {
		return kv.Checkup{}, s.failure(ctx, "check", err)
	}
	var c kv.Checkup
	var number, standbys int
	var fsync, pages bool
	var synchronous string
	err = pgx.BeginTxFunc(ctx, conn, pgx.TxOptions{BeginQuery: begin}, func(tx pgx.Tx) error {
		return tx.QueryRow(ctx, serverSettings, inline(nil)...).Scan(&c.Version, &number, &fsync, &pages, &synchronous, &standbys)
	})
	if err != nil {
		return kv.Checkup{}, s.failure(ctx, "check", err)
	}
	find := func(topic string, mend bool, text string) {
		c.Findings = append(c.Findings, kv.Finding{Topic: topic, Mend: mend, Text: text})
	}
	if number < oldestServer {
		find("version", true, "this release is older than 15, with which nothing was tested: upgrade it")
	}
	if !fsync || !pages {
		find("durability", true, "fsync or full_page_writes is off: a crash of the machine may lose claims without a trace, and ticks run twice; set both to on")
	}
	if text := aboutStandbys(standbys, synchronous, s.durable); text != "" {
		find("standbys", s.durable && synchronous == "", text)
	}
	if s.durable {
		find("durable", false, "the configuration says durable: if this service ever promotes a standby that lacks commits, ticks may run twice")
	}
	return c, nil
}

// aboutStandbys says what the promotion of a standby may forget; "" if there is none.
func aboutStandbys(standbys int, synchronous string, durable bool) string {
	switch {
	case synchronous != "":
		return fmt.Sprintf("synchronous_standby_names is %q: if only a synchronous standby is ever promoted, nothing is forgotten that it has confirmed. "+
			"A commit that waits for it longer than timeout counts here, and may be missing there", synchronous)
	case standbys > 0 && durable:
		return "the standbys are asynchronous, and the configuration says durable: the promotion of one may forget the last commits, and then ticks run twice; remove durable, or set synchronous_standby_names"
	case standbys > 0:
		return "the standbys are asynchronous: the promotion of one may forget the last commits, also of the ledger. Stop this server first; " +
			"then no tick runs twice, and none runs for failover_grace. With synchronous_standby_names, and only a synchronous standby promoted, nothing is forgotten"
	}
	return ""
}

var _ kv.Server = (*Store)(nil)

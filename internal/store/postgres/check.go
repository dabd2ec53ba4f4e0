package postgres

import (
	"context"
	"fmt"

	"github.com/quorate/quorate/internal/store"
)

// oldestServer is the oldest release whose tests have passed, as the server numbers it.
const oldestServer = 150000

const serverSettings = `SELECT current_setting('server_version'), current_setting('server_version_num')::int,
	current_setting('fsync')::bool, current_setting('full_page_writes')::bool,
	current_setting('synchronous_standby_names'), (SELECT count(*) FROM pg_stat_replication)`

// Name is the address of the server and its database.
func (s *Store) Name() string {
	c := s.pool.Config().ConnConfig
	return fmt.Sprintf("%s:%d/%s", c.Host, c.Port, c.Database)
}

// Check implements [store.Server].
func (s *Store) Check(ctx context.Context) (store.Checkup, error) {
	if err := s.check(ctx); err != nil {
		return store.Checkup{}, s.failure(ctx, "check", err)
	}
	var c store.Checkup
	var number, standbys int
	var fsync, pages bool
	var synchronous string
	err := s.pool.QueryRow(ctx, serverSettings, inline(nil)...).Scan(&c.Version, &number, &fsync, &pages, &synchronous, &standbys)
	if err != nil {
		return store.Checkup{}, s.failure(ctx, "check", err)
	}
	find := func(topic string, mend bool, text string) {
		c.Findings = append(c.Findings, store.Finding{Topic: topic, Mend: mend, Text: text})
	}
	if number < oldestServer {
		find("version", true, "this release is older than 15, with which nothing was tested: upgrade it")
	}
	if !fsync || !pages {
		find("durability", true, "fsync or full_page_writes is off: a crash of the machine may lose claims without a trace, and ticks run twice; set both to on")
	}
	if standbys > 0 && synchronous == "" && !s.durable {
		find("standbys", false, "the standbys are asynchronous: before one is promoted, stop this server; after that no tick runs for failover_grace. With synchronous_standby_names, and only a synchronous standby promoted, nothing is forgotten")
	}
	if s.durable {
		find("durable", false, "the configuration says durable: if this service ever promotes a standby that lacks commits, ticks may run twice")
	}
	return c, nil
}

var _ store.Server = (*Store)(nil)

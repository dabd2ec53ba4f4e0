package replica

import (
	"testing"

	"github.com/quorate/quorate/dev/testkit/kvtest"
	"github.com/quorate/quorate/internal/config"
	"github.com/quorate/quorate/replica/settings"
)

// ofSection is a store of any section, to which the program has a pool.
type ofSection struct {
	inMemory
	section, address string
}

func (s ofSection) Section() string { return s.section }

func (s ofSection) Address() string { return s.address }

// A store of a program stands for the URL of its own section, unless that is set.
func TestPoolsStandForTheURL(t *testing.T) {
	t.Parallel()
	for _, section := range []string{config.SectionPostgres, config.SectionMySQL} {
		pool := ofSection{inMemory{new(kvtest.Memory)}, section, section + "://pool"}
		cfg, err := Config{Store: pool}.over(config.Default())
		if err != nil {
			t.Fatal(err)
		}
		if own := map[string]settings.Secret{config.SectionPostgres: cfg.Postgres.URL, config.SectionMySQL: cfg.MySQL.URL}; cfg.Section() != section || string(own[section]) != pool.address {
			t.Errorf("a pool of %s is used as %s, with %v", section, cfg.Section(), own)
		}
	}
	pool := ofSection{inMemory{new(kvtest.Memory)}, config.SectionMySQL, "mysql://pool"}
	if cfg, err := (Config{Store: pool, MySQL: settings.MySQL{URL: "mysql://own"}}).over(config.Default()); err != nil || cfg.MySQL.URL != "mysql://own" {
		t.Errorf("the URL is %s, %v", cfg.MySQL.URL, err)
	}
	file := ofSection{inMemory{new(kvtest.Memory)}, config.SectionSQLite, ""}
	if cfg, err := (Config{Store: file, SQLite: settings.SQLite{Path: "a"}}).over(config.Default()); err != nil || cfg.Section() != config.SectionSQLite || cfg.SQLite.Path != "a" {
		t.Errorf("SQLite is %+v of %s, %v", cfg.SQLite, cfg.Section(), err)
	}
}

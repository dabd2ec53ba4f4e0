package zookeeper

import (
	"context"
	"strings"

	"github.com/quorate/quorate/internal/config"
	"github.com/quorate/quorate/internal/store/single/kv"
	"github.com/quorate/quorate/replica"
	"github.com/quorate/quorate/stores/zookeeper/internal/session"
)

// A Store is where a replica keeps everything. The zero value takes the zookeeper section of the
// configuration file.
type Store struct {
	// Servers are all servers of the ensemble, as host:port.
	Servers []string
}

// Section implements [replica.Store].
func (s *Store) Section() string { return config.SectionZooKeeper }

// Address implements [replica.Store].
func (s *Store) Address() string { return strings.Join(s.Servers, ",") }

// Open implements [replica.Store].
func (s *Store) Open(_ context.Context, cluster config.Cluster) (kv.Server, error) {
	kept := cluster.ZooKeeper
	return open(options{
		Config:  session.Config{Servers: kept.Servers, Login: cluster.Login},
		secured: kept.Username != "", chroot: kept.Chroot, namespace: cluster.Namespace,
	})
}

var _ replica.Store = (*Store)(nil)

package etcd

import (
	"context"
	"strings"

	"github.com/quorate/quorate/internal/config"
	"github.com/quorate/quorate/internal/store/single/kv"
	"github.com/quorate/quorate/replica"
)

// A Store is where a replica keeps everything. The zero value takes the etcd section of the
// configuration file.
type Store struct {
	// Endpoints are the URLs of all members.
	Endpoints []string
}

// Section implements [replica.Store].
func (s *Store) Section() string { return config.SectionEtcd }

// Address implements [replica.Store].
func (s *Store) Address() string { return strings.Join(s.Endpoints, ",") }

// Open implements [replica.Store].
func (s *Store) Open(_ context.Context, cluster config.Cluster) (kv.Server, error) {
	return open(cluster), nil
}

var _ replica.Store = (*Store)(nil)

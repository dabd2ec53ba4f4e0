// Package etcd keeps everything in etcd, in place of Redis nodes. It is in a module of its
// own, so that nobody else carries etcd's client:
//
//	r, err := replica.New(replica.Config{
//		Store: &etcd.Store{Endpoints: []string{"https://10.0.0.1:2379", …}},
//		Jobs:  …,
//	})
//
// With a configuration file that has an etcd section, an empty Store is enough.
//
// # On etcd
//
// A transaction of package kv is one of etcd. Versions are mod revisions, which grow
// with each change of any key, so they never repeat. Reads are linearizable: etcd asks a
// quorum of its members before it answers. Records of one answer have one revision.
//
// Leases of etcd are not used: a new leader renews all of them. Leases expire by
// observation, see package claims.
//
// Each key begins with quorate/NAMESPACE/. The key quorate/NAMESPACE/life has the store's life.
// A process that finds another cluster behind it, or a revision below one that it has seen,
// writes the next life. If no process was running when a backup was restored, and the
// cluster has the same identity, nothing shows it: then `quorate-etcd store init --restored` is
// needed. The identity is computed from the members' names and addresses and from the cluster's
// token, so a restored cluster often has the same.
package etcd

// Package zookeeper keeps everything in ZooKeeper, in place of Redis nodes. It is in a module of
// its own, so that nobody else carries ZooKeeper's client:
//
//	r, err := replica.New(replica.Config{
//		Store: &zookeeper.Store{Servers: []string{"10.0.0.1:2181", …}},
//		Jobs:  …,
//	})
//
// With a configuration file that has a zookeeper section, an empty Store is enough.
//
// # On ZooKeeper
//
// All nodes are below CHROOT/quorate/NAMESPACE:
//
//	/life            the store's life, set by each transaction; its only child has the same name
//	/KIND/NAME=      a record without a Sub
//	/KIND/NAME/SUB   any other record
//
// The data of a record are its version, which is random, and its value. Its only child has the
// version as its name. So a transaction of package kv is one multi of ZooKeeper: to compare a
// record, it checks that the child exists, and to compare one that does not exist, it makes and
// deletes it. Versions of nodes in ZooKeeper begin again when a node was deleted; these do not.
//
// Before each answer a server is told to catch up with its leader (sync). A leader that was
// deposed, and does not know it, may answer with what was true a moment before. So an answer may be
// old, but no transaction that rests on it can win.
//
// ZooKeeper answers for one node at a time. That several answers are of one moment is shown by the
// transaction identifiers in them, see cut.
//
// Ephemeral nodes are not used: their end depends on a session, which a pause or a slow network
// ends. Leases expire by observation, see package claims.
//
// A process that finds fewer transactions counted than it has seen writes the next
// life. If no process was running when a backup was restored, nothing shows it: then
// `quorate-zookeeper store init --restored` is needed.
package zookeeper

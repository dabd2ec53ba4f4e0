// Package postgres lets a replica keep everything in PostgreSQL, in place of Redis nodes:
//
//	r, err := replica.New(replica.Config{
//		Store: &postgres.Store{URL: "postgres://user@10.0.0.1:5432/app"},
//		Jobs:  …,
//	})
//
// The tables are made by `quorate store migrate`, or by Store.Migrate. With a
// configuration file that has a postgres section, an empty Store is enough.
package postgres

// Package ownstore keeps everything in one file of bbolt. It is no part of the product: it shows what the
// author of another store writes, and that the kits of the product's own stores accept it. It is in a
// module of its own, as such a store would be.
//
//	r, err := replica.New(replica.Config{
//		SQLite: settings.SQLite{Path: "/var/lib/billing/quorate.bolt"},
//		Store:  new(ownstore.Store),
//		Jobs:   …,
//	})
//
// # What it needs of Quorate
//
// Only a module of this repository may import internal packages. These are all that a store needs, so a
// public contract means to make them public. A test compares the list with the imports:
//
//	internal/config           the settings that Open gets, and the name of their section
//	internal/inode            tells files apart; a store on servers needs something else
//	internal/store/single/kv  the contract
//
// Its tests need dev/testkit, and internal packages that the kits take.
//
// # Settings
//
// A configuration has six sections of stores, and a program cannot add one. So a store of a third party takes
// the section that fits best, in place of the store that the section was made for. Here that is sqlite: its path,
// timeout and restore_grace mean the same. Messages about the section speak of SQLite, those about the file of bbolt.
//
// # One process
//
// bbolt locks its file, so one replica has it. Any other one is a spare: it waits until the first one ends.
// A command such as `quorate-bbolt runs` fails beside a replica. The dashboard of the replica shows the same.
//
// # The life
//
// The file has a random name for its life, with its inode and the time of its birth. A file with another
// inode begins another life, so replicas notice a backup that takes its place, also while they run.
// Nothing shows a copy that is written over the file, or a snapshot of the whole disk: end the replica and
// run `quorate-bbolt store init --restored` afterwards. Files can be told apart on Linux and macOS.
//
// # What it lacks
//
// Each transaction waits for the disk alone, where the product's own stores send several together. Jobs cannot
// end their runs in a transaction of theirs. The file system may be one whose locks hold for one host only.
// bbolt panics at a damaged page, which ends the process.
package ownstore

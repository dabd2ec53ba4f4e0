package main

import (
	"os/exec"
	"regexp"
)

// A load is how a part uses the machine.
type load int

const (
	waits    load = iota // most of the time for leases, servers and processes
	computes             // on all cores
	measures             // times of its own: nothing else may run
)

// A part of the proof.
type part struct {
	name   string
	says   string // what it shows
	target string // of make, or several
	load   load
	proves bool           // a promise, not what is shipped
	code   []string       // the folders that it speaks for, and its own
	drop   *regexp.Regexp // lines that its page leaves out; nil: none
	whole  string         // variables of make in a whole proof, where other parts show the rest
	needs  string         // a program that not every system has; without it only who names the part runs it
}

// product are the folders of the product, kits also those of tests that hurt real processes.
var (
	product = []string{"go.mod", "cmd", "internal", "jobs", "locking", "replica", "scheduler", "stores/postgres"}
	kits    = append([]string{"dev/integration", "dev/testkit"}, product...)
)

var (
	// Of a test's output, what says no more than that it ran.
	verbose = regexp.MustCompile(`^ *(=== |--- PASS: .*/)|^(PASS|FAIL)?$|^(\?|testing: warning)|no tests to run|^make`)
	rounds  = regexp.MustCompile(`^ *[0-9]+s +(round|$)|^make`)
)

// parts are in the order in which they begin. Long ones begin first.
var parts = []part{
	{"race", "the tests of the product and its stores with the race detector, shortened except for locks; and at length without it", "race", waits, true, append([]string{"dev/faults", "stores", "examples"}, kits...), verbose, "", ""},
	{"mysql", "MariaDB: all kits, servers and replicas killed, frozen, cut off and promoted", "mysql", waits, true, append([]string{"stores/mysql"}, kits...), verbose, "", ""},
	{"zookeeper", "ZooKeeper: all kits, members and replicas killed, frozen and cut off", "zookeeper", waits, true, append([]string{"stores/zookeeper"}, kits...), verbose, "", ""},
	{"mutants", "each planted bug is caught by a test that names it", "mutants", computes, true, append([]string{"dev/mutants", "dev/sim", "dev/faults", "stores"}, kits...), nil, "CLEAN=no", ""},
	{"promotions", "PostgreSQL and Sentinels: servers that are promoted again and again, all kits", "promotions", waits, true, append([]string{"dev/integration/failover", "dev/integration/pgstore"}, kits...), verbose, "", ""},
	{"model", "the rules of claims and of membership, in every order of steps; the smaller half", "model", computes, true, []string{"dev/model", "locking/redlock/PROTOCOL.md"}, nil, "", ""},
	{"etcd", "etcd: all kits, members and replicas killed, frozen and cut off", "etcd", waits, true, append([]string{"stores/etcd"}, kits...), verbose, "", ""},
	{"sim", "whole clusters in virtual time, and hundreds of thousands of claims of locks", "sim", computes, true, append([]string{"dev/sim", "dev/testkit"}, product...), verbose, "", ""},
	{"faults", "each fault of docs/faults.md, on real servers and holders", "faults", waits, true, append([]string{"dev/faults"}, kits...), verbose, "", ""},
	{"campaign", "Redis nodes: processes and nodes killed, frozen and restarted", "campaign", waits, true, kits, verbose, "", ""},
	{"sqlite", "SQLite: all kits, processes killed in the middle of commits, files replaced", "sqlite", waits, true, append([]string{"stores/sqlite"}, kits...), verbose, "", ""},
	{"differential", "the scripts of the nodes against a plain model of a node", "differential", computes, true, []string{"internal/store/quorum", "internal/store/protocol", "dev/testkit/nodetest"}, verbose, "", ""},
	{"upgrade", "the last release beside this one, both ways round", "upgrade", waits, true, append([]string{".ci/released"}, kits...), verbose, "", ""},
	{"models", "the same, all of it", "models", computes, false, []string{"dev/model", "locking/redlock/PROTOCOL.md"}, nil, "", ""},
	{"tutorial", "the tutorial, followed on PostgreSQL and on MariaDB", "tutorial", waits, false, append([]string{"dev/tutorial", "docs/tutorial.md", "stores/mysql"}, product...), verbose, "", ""},
	{"search", "simulated worlds that nobody has seen yet", "search", computes, false, append([]string{"dev/sim", "dev/testkit"}, product...), verbose, "", ""},
	{"history", "what pages cost with a million entries in PostgreSQL", "history", waits, false, append([]string{"dev/integration/pgstore", "dev/testkit"}, product...), verbose, "", ""},
	{"ci", "what CI runs: tests, linters, vulnerabilities, other modules, a browser, foreign clients", "test checks", computes, false, append([]string{"dev", "stores", "examples", "docs"}, product...), verbose, "", ""},
	{"release", "archives and packages, built twice and compared", "release-check", computes, false, append([]string{"dev/release", "stores"}, product...), verbose, "", ""},
	{"image", "the container image, as its user on a read-only root", "image-check", waits, false, append([]string{"dev/integration/image"}, product...), verbose, "", ""},
	{"chart", "the Helm chart with each of its values", "chart", computes, false, []string{"deploy", "dev/deploy"}, verbose, "", ""},
	{"site", "links, search and accessibility of the site", "site-check", waits, false, []string{"docs", "dev/browser"}, verbose, "", ""},
	{"signin", "single sign-on through oauth2-proxy, with the configurations of docs/oauth2-proxy.md", "signin", waits, false, append([]string{"dev/signin", "dev/testkit", "docs/oauth2-proxy.md"}, product...), verbose, "", ""},
	{"valkey", "the tests of the scripts on valkey-server", "valkey", waits, false, []string{"internal/store/quorum", "locking", "dev/testkit"}, verbose, "", "valkey-server"},
	{"bench", "this project beside its peers, as ratios", "bench", measures, false, append([]string{"dev/bench", "dev/testkit", "stores/mysql", "stores/sqlite"}, product...), rounds, "", ""},
}

// isHere reports whether the system has what the part needs.
func (p part) isHere() bool {
	_, err := exec.LookPath(p.needs)
	return p.needs == "" || err == nil
}

func partNames() (names []string) {
	for _, p := range parts {
		names = append(names, p.name)
	}
	return names
}

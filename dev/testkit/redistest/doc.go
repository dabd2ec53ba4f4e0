// Package redistest gives tests real Redis servers and embedded ones. Only tests import it.
//
// Start runs a redis-server process on loopback with a directory of its own;
// the process ends with the test, and with the test binary if that is killed.
// A machine without redis-server fails the test and says what to install. The
// environment variable QUORATE_REDIS_SERVER names another program to run, such
// as valkey-server.
//
// MiniN makes embedded nodes that work inside a testing/synctest bubble. They
// cannot tell a run_id, so their clients must allow embedded nodes.
package redistest

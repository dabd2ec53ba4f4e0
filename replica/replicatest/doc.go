// Package replicatest reads a configuration for tests of its jobs in virtual
// time, by package schedtest.
package replicatest

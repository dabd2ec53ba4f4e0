// Package redlock grants leases by a quorum of independent Redis masters.
package redlock

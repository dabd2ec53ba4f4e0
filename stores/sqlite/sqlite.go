// Package sqlite keeps everything in a file of SQLite, for replicas on one host.
package sqlite

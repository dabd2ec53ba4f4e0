// Package cmd is the command line. A program with its own functions calls [Main]. The
// JSON that commands print (-o json) is a contract, which golden files pin.
package cmd

// Package cmd is the whole command line, so that a binary with functions of its
// own is a call of [Main]. It wires; what it prints for programs (-o json) is a
// contract that golden files pin.
package cmd

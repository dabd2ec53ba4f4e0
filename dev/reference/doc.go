// Package reference writes the pages of docs/reference: the command line from its commands,
// the configuration from its schema, and the API from its OpenAPI document.
//
// A test of package cmd compares the pages with those that are committed, and writes them
// with -update: make reference.
package reference

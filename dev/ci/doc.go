// Package ci holds the tests of what CI runs, and of what GitHub reads: .ci and .github.
package ci

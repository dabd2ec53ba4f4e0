// Package ci holds the tests of what CI runs: .ci/deps and the workflow.
package ci

// Package length says how long tests run that find by chance what they look for. A sample is
// for every change. The whole, with QUORATE_CAMPAIGN=full, is long enough for the bugs that the
// test must find: dev/README.md has the odds.
package length

import "os"

// Whole reports whether such tests run whole.
func Whole() bool { return os.Getenv("QUORATE_CAMPAIGN") == "full" }

// Of is the length of a test: that of a sample, or the whole.
func Of[T any](sample, whole T) T {
	if Whole() {
		return whole
	}
	return sample
}

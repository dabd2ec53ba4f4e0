package job

import (
	"maps"
	"slices"
	"strings"
)

// A job with labels runs on replicas that have all of them. The others do not claim its
// ticks, and are left out of its ranks.

// Fits reports whether a replica with the labels has may run a job with the labels wants.
func Fits(has, wants map[string]string) bool {
	for key, value := range wants {
		if have, ok := has[key]; !ok || have != value {
			return false
		}
	}
	return true
}

// LabelText returns the labels in order: zone=a, gpu=yes.
func LabelText(labels map[string]string) string {
	var words []string
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		words = append(words, key+"="+labels[key])
	}
	return strings.Join(words, ", ")
}

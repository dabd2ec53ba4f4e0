package listing

import (
	"fmt"
	"strings"
)

// Count is a number with its noun.
func Count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// And joins names as one says them; of many it names the first.
func And(names []string) string {
	switch n := len(names); {
	case n == 0:
		return ""
	case n == 1:
		return names[0]
	case n > 4:
		return strings.Join(names[:3], ", ") + " and " + Count(n-3, "other", "others")
	default:
		return strings.Join(names[:n-1], ", ") + " and " + names[n-1]
	}
}

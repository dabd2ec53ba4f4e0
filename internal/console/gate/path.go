package gate

import (
	"fmt"
	"strings"
)

// ValidBasePath returns an error unless text can be the prefix of every served path.
func ValidBasePath(text string) error {
	clean := strings.TrimSuffix(text, "/")
	if clean == "" {
		return nil
	}
	if !strings.HasPrefix(clean, "/") || strings.ContainsAny(clean, "?#{} \t%") || strings.Contains(clean, "//") || strings.Contains(clean+"/", "/./") || strings.Contains(clean+"/", "/../") {
		return fmt.Errorf("%q is not a valid path; write one such as /admin/cron", text)
	}
	return nil
}

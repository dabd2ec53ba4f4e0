package job

import (
	"errors"
	"fmt"
)

// ErrHalfWritten is for new jobs that lack most of the old ones, or come from a file that seems to
// be cut off.
var ErrHalfWritten = errors.New("may be half written")

// CheckLoss returns an error that matches ErrHalfWritten if after has fewer jobs than before and
// lacks more than half of those.
func CheckLoss(before, after []Definition) error {
	left := make(map[string]bool, len(after))
	for _, d := range after {
		left[d.storedAs()] = true
	}
	var gone []string
	for _, d := range before {
		if !left[d.storedAs()] {
			gone = append(gone, d.Name)
		}
	}
	if len(after) >= len(before) || 2*len(gone) <= len(before) {
		return nil
	}
	return fmt.Errorf("%w: %d of %d jobs are gone, such as %s", ErrHalfWritten, len(gone), len(before), gone[0])
}

//go:build !linux && !darwin

package inode

import "errors"

// Of fails here: nothing was tested. The error matches errors.ErrUnsupported.
func Of(string) (ID, error) { return ID{}, errors.ErrUnsupported }

//go:build !unix

package top

import (
	"errors"
	"io"
)

// A screen does not exist on this system.
type screen struct{}

func openScreen(io.Reader, io.Writer) (*screen, bool) { return nil, false }

var errNoScreen = errors.New("no live view on this system; use --once")

func (*screen) open() (<-chan event, error) { return nil, errNoScreen }
func (*screen) close()                      {}
func (*screen) enter() error                { return errNoScreen }
func (*screen) suspend() error              { return errNoScreen }
func (*screen) size() (width, height int)   { return 80, 24 }
func (*screen) draw([]string) error         { return errNoScreen }

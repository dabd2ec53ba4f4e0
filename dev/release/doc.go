// Package release holds the tests of what a release ships: packages, their systemd unit,
// and the image.
package release

package config_test

import (
	"testing"

	"github.com/quorate/quorate/internal/config"
)

// An IPv4 address or network is the same one when it is written within IPv6.
func TestPrefixOf(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"10.0.0.7": "10.0.0.7/32", "::ffff:10.0.0.7": "10.0.0.7/32", "10.0.0.0/8": "10.0.0.0/8",
		"::ffff:10.0.0.0/104": "10.0.0.0/8", "2001:db8::/32": "2001:db8::/32", "::/0": "::/0",
	} {
		if got, err := config.PrefixOf(text); err != nil || got.String() != want {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
}

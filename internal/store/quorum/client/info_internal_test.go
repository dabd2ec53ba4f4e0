package client

import "testing"

func TestServerVersion(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		info, version string
		tooOld        bool
	}{
		{"redis_version:7.0.15\r\n", "7.0.15", false},
		{"redis_version:6.0.16\r\n", "6.0.16", true},
		{"redis_version:7.2.4\r\nserver_name:valkey\r\nvalkey_version:8.1.1\r\n", "valkey 8.1.1", false},
		{"redis_version:edge\r\n", "edge", false},
		{"", "", false},
	} {
		info := parseInfo(tt.info)
		if got := info.Version(); got != tt.version || info.TooOld() != tt.tooOld {
			t.Errorf("%q is %q, too old: %v; want %q, %v", tt.info, got, info.TooOld(), tt.version, tt.tooOld)
		}
	}
}

package config

import (
	"maps"
	"net"
	"net/netip"
	"slices"
	"strconv"

	"github.com/quorate/quorate/internal/console/gate"
	"github.com/quorate/quorate/scheduler/identity"
)

// check checks what is served over HTTP, and to whom.
func (h HTTPConfig) check(ps *problems) {
	p := path{"http"}
	ps.address(p.with("listen"), h.Listen)
	ps.address(p.with("probes_listen"), h.ProbesListen)
	if _, port, _ := net.SplitHostPort(h.Listen); h.Listen == h.ProbesListen && h.Listen != "" && port != "0" {
		ps.at(p.with("probes_listen"), "%s is http.listen; choose another port", h.ProbesListen)
	}
	if err := gate.ValidBasePath(h.BasePath); err != nil {
		ps.at(p.with("base_path"), "%v", err)
	}
	if (h.TLS.CertFile == "") != (h.TLS.KeyFile == "") {
		ps.at(p.with("tls"), "cert_file and key_file go together; set both or neither")
	}
	for _, name := range slices.Sorted(maps.Keys(h.Users)) {
		h.checkUser(ps, p.with("users", name), name)
	}
	h.TrustedProxies.check(ps, p.with("trusted_proxies"))
}

// address reports what is no address to listen on.
func (ps *problems) address(p path, text string) {
	if text == "" {
		return
	}
	_, port, err := net.SplitHostPort(text)
	n, numErr := strconv.Atoi(port)
	if err != nil || numErr != nil || n < 0 || n > 65535 {
		ps.at(p, "%q is not an address; write host:port such as 127.0.0.1:8081, or :8081 for all interfaces", text)
	}
}

// checkUser checks a user, but for secrets that are references.
func (h HTTPConfig) checkUser(ps *problems, p path, name string) {
	user := h.Users[name]
	if err := (identity.User{Name: name, Role: identity.Viewer}).Validate(); err != nil {
		ps.atKey(p, "%v", err)
	}
	if user.Password == "" && user.Token == "" && h.TrustedProxies.UserHeader == "" && !ps.has(p) {
		ps.at(p, "has neither password nor token; write what quorate users password or quorate users token prints")
	}
	if err := identity.ValidatePassword(user.Password); user.Password != "" && !hasReference(user.Password) && err != nil {
		ps.at(p.with("password"), "%v", err)
	}
	if err := identity.ValidateToken(user.Token); user.Token != "" && !hasReference(user.Token) && err != nil {
		ps.at(p.with("token"), "%v", err)
	}
}

func (x ProxyConfig) check(ps *problems, p path) {
	for i, text := range x.Addresses {
		if _, err := PrefixOf(text); err != nil {
			ps.at(p.with("addresses", strconv.Itoa(i)), "%q is no address; write one such as 10.0.0.7, or a network such as 10.0.0.0/8", text)
		}
	}
	switch {
	case x.UserHeader != "" && len(x.Addresses) == 0:
		ps.at(p, "names no addresses, so that nobody is believed; write those of the proxies")
	case x.Role != "none" && x.Role != "" && x.UserHeader == "":
		ps.at(p.with("role"), "has no effect without user_header; write the header in which the proxies name the user")
	}
}

// PrefixOf reads an address, or a network.
func PrefixOf(text string) (netip.Prefix, error) {
	if at, err := netip.ParseAddr(text); err == nil {
		return netip.PrefixFrom(at.Unmap(), at.Unmap().BitLen()), nil
	}
	prefix, err := netip.ParsePrefix(text)
	if prefix.Addr().Is4In6() && prefix.Bits() >= 96 {
		prefix = netip.PrefixFrom(prefix.Addr().Unmap(), prefix.Bits()-96)
	}
	return prefix, err
}

// warn reports secrets that go over the network for everybody to read.
func (h HTTPConfig) warn(ps *problems) {
	host, _, err := net.SplitHostPort(h.Listen)
	at, _ := netip.ParseAddr(host)
	if err != nil || at.IsLoopback() || host == "localhost" || h.TLS.CertFile != "" || len(h.TrustedProxies.Addresses) > 0 {
		return
	}
	ps.at(path{"http", "listen"}, "warning: passwords and tokens of users go over the network for everybody to read; set http.tls, or put a proxy that speaks TLS before it and name it in http.trusted_proxies")
}

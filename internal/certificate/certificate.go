// Package certificate tells which side of a TLS connection has refused the other's certificate.
package certificate

import (
	"crypto/x509"
	"errors"
	"net"
)

// Refused reports why a connection has failed that would fail again: that of the server is not trusted here,
// or the server has refused the connection, as it does if it wants another client certificate.
func Refused(err error) (untrusted, byServer bool) {
	_, unknown := errors.AsType[x509.UnknownAuthorityError](err)
	_, invalid := errors.AsType[x509.CertificateInvalidError](err)
	_, other := errors.AsType[x509.HostnameError](err)
	remote, _ := errors.AsType[*net.OpError](err)
	return unknown || invalid || other, remote != nil && remote.Op == "remote error"
}

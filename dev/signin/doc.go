// Package signin holds the test of docs/oauth2-proxy.md: people log in to the dashboard through
// oauth2-proxy, and the test takes both configurations from the page. It is a module of its own,
// since the main one must not depend on a provider of OpenID Connect.
//
// make signin installs the release of oauth2-proxy that the Makefile names, which takes minutes the
// first time, so neither CI nor make modules runs this. The provider is mockoidc, by the authors of
// oauth2-proxy: it logs in the user that the test names, without a password. All servers are on loopback.
// Clients differ by their addresses in 127.0.0.0/8, which only Linux has.
package signin

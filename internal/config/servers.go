package config

import (
	"net"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/quorate/quorate/internal/refs"
	"github.com/quorate/quorate/replica/settings"
)

// checkTogether reports that only one of two texts is set, which have these names.
func (ps *problems) checkTogether(p path, names, one, other string) {
	if (one == "") != (other == "") {
		ps.at(p, "%s go together; set both or neither", names)
	}
}

// checkTLS reports files that do not go together, and a section that nothing uses.
func (ps *problems) checkTLS(section string, t settings.TLS, unused bool, remedy string) {
	at := path{section, "tls"}
	ps.checkTogether(at, "cert_file and key_file", t.CertFile, t.KeyFile)
	if unused && t != (settings.TLS{}) {
		ps.at(at, "%s", remedy)
	}
}

// checkUser reports a user without a password, and the other way round.
func (ps *problems) checkUser(section string, username, password settings.Secret) {
	ps.checkTogether(path{section}, "username and password", string(username), string(password))
}

// checkURL returns the URL of a database. It returns nil if it reports the URL, or if a secret in it is
// on another machine: that is seen when it is used.
func (ps *problems) checkURL(section string, text settings.Secret, isOne func(*url.URL) bool, example string) *url.URL {
	at := path{section, "url"}
	resolved, err := refs.Resolve(string(text))
	if err != nil || resolved == "" && ps.has(at) {
		return nil
	}
	// The error of url.Parse quotes the URL, which may hold a password. A second @ is one of the
	// password: the driver would take what is behind the first for the host.
	u, err := url.Parse(resolved)
	if err != nil || strings.Count(resolved, "@") > 1 || !isOne(u) {
		ps.at(at, "is no URL of a database; write one such as %s, with %%40 for @ and %%2F for / in its password", example)
		return nil
	}
	if port, err := strconv.Atoi(u.Port()); err == nil && port > 65535 {
		ps.at(at, "has a port above 65535")
	}
	return u
}

func (ps *problems) checkPostgres(p settings.Postgres) {
	ps.checkURL(SectionPostgres, p.URL, func(u *url.URL) bool {
		return (u.Scheme == "postgres" || u.Scheme == "postgresql") && (u.Host != "" || u.Query().Get("host") != "")
	}, "postgres://user@10.0.0.1:5432/app")
}

// tlsOfMySQL are the values of tls in the URL of MySQL. Only the first uses the section tls.
var tlsOfMySQL = []string{"true", "skip-verify", "preferred"}

func (ps *problems) checkMySQL(m settings.MySQL, namespace string) {
	u := ps.checkURL(SectionMySQL, m.URL, func(u *url.URL) bool {
		return u.Scheme == "mysql" && u.User != nil && u.Hostname() != "" && !strings.Contains(u.Host, ",") && u.Fragment == ""
	}, "mysql://user@10.0.0.1:3306")
	ignored := false // the section tls
	if u != nil {
		at, query := path{SectionMySQL, "url"}, u.Query()
		if name := strings.TrimPrefix(u.Path, "/"); name != "" && name != namespace {
			ps.at(at, "names another database than the namespace, which is the name of the database; end the URL with the port, or set namespace")
		}
		for key, values := range query {
			if key != "tls" || len(values) > 1 || !slices.Contains(tlsOfMySQL, values[0]) {
				ps.at(at, "has another parameter than tls=%s; remove it", oneOf(tlsOfMySQL))
				break
			}
		}
		ignored = query.Has("tls") && query.Get("tls") != tlsOfMySQL[0]
	}
	ps.checkTLS(SectionMySQL, m.TLS, ignored, "is ignored with the tls of the URL; write tls=true there, or remove this section")
}

func (ps *problems) checkSQLite(s settings.SQLite) {
	switch at := (path{SectionSQLite, "path"}); {
	case s.Path == "" && ps.has(at):
	case s.Path == "":
		ps.at(at, "no file is named; write its path, such as /var/lib/quorate/quorate.db")
	case strings.HasPrefix(s.Path, "file:") || strings.HasPrefix(s.Path, ":memory:") || strings.HasSuffix(s.Path, string(filepath.Separator)):
		ps.at(at, "is no path of a file; write one such as /var/lib/quorate/quorate.db")
	}
}

// checkServers reports an empty list of addresses as none, and what is no address as wrong.
func (ps *problems) checkServers(list path, addresses []string, isOne func(string) bool, none, wrong string) {
	if len(addresses) == 0 && !ps.has(list) {
		ps.at(list, "%s", none)
	}
	for i, text := range addresses {
		switch at := list.with(strconv.Itoa(i)); {
		case !isOne(text):
			ps.at(at, "%s", wrong)
		case slices.Contains(addresses[:i], text):
			ps.at(at, "%s is listed twice", text)
		}
	}
}

func (ps *problems) checkEtcd(e settings.Etcd) {
	list, secure := path{SectionEtcd, "endpoints"}, 0
	for _, text := range e.Endpoints {
		if strings.HasPrefix(text, "https:") {
			secure++
		}
	}
	ps.checkServers(list, e.Endpoints, func(text string) bool {
		u, err := url.Parse(text)
		return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Port() != "" && u.User == nil && strings.Trim(u.Path, "/")+u.RawQuery+u.Fragment == ""
	}, "no members are listed; write the URLs of all members, such as https://10.0.0.1:2379",
		"is no URL of a member of etcd; write one such as https://10.0.0.1:2379; user and password have keys of their own")
	if secure > 0 && secure < len(e.Endpoints) {
		ps.at(list, "some members have https:// and some http:// URLs; write one of the two for all")
	}
	ps.checkUser(SectionEtcd, e.Username, e.Password)
	ps.checkTLS(SectionEtcd, e.TLS, secure == 0, "no member uses TLS; write https:// URLs, or remove the section")
}

func (ps *problems) checkZooKeeper(z settings.ZooKeeper) {
	ps.checkServers(path{SectionZooKeeper, "servers"}, z.Servers, func(text string) bool {
		host, port, err := net.SplitHostPort(text)
		return err == nil && host != "" && port != "" && !strings.ContainsAny(text, "/@, ")
	}, "no servers are listed; write all, such as 10.0.0.1:2181",
		"is no server of ZooKeeper; write its host and port, such as 10.0.0.1:2181; chroot, user and password have keys of their own")
	if at := z.Chroot; at != "" && (!strings.HasPrefix(at, "/") || strings.HasSuffix(at, "/") || strings.Contains(at, "//")) {
		ps.at(path{SectionZooKeeper, "chroot"}, "is no path of a node; write one such as /apps/billing")
	}
	ps.checkUser(SectionZooKeeper, z.Username, z.Password)
	ps.checkTLS(SectionZooKeeper, z.TLS, false, "")
}

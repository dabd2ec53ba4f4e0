package config

import (
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// together makes sure that a user has a password.
func (ps *problems) together(section, username, password string) {
	if (username == "") != (password == "") {
		ps.at(path{section}, "username and password go together; set both or neither")
	}
}

func (e EtcdConfig) check(ps *problems) {
	list := path{SectionEtcd, "endpoints"}
	if len(e.Endpoints) == 0 && !ps.has(list) {
		ps.at(list, "no members are listed; write the URLs of all members, such as https://10.0.0.1:2379")
	}
	secure := 0
	for i, text := range e.Endpoints {
		u, err := url.Parse(text)
		switch at := list.with(strconv.Itoa(i)); {
		case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Port() == "" || u.User != nil || strings.Trim(u.Path, "/")+u.RawQuery+u.Fragment != "":
			ps.at(at, "is no URL of a member of etcd; write one such as https://10.0.0.1:2379; user and password have keys of their own")
		case slices.Contains(e.Endpoints[:i], text):
			ps.at(at, "%s is listed twice", text)
		case u.Scheme == "https":
			secure++
		}
	}
	if secure > 0 && secure < len(e.Endpoints) {
		ps.at(list, "some members have https:// and some http:// URLs; write one of the two for all")
	}
	ps.together(SectionEtcd, e.Username, e.Password)
	e.TLS.check(ps, path{SectionEtcd, "tls"}, secure == 0, "no member uses TLS; write https:// URLs, or remove the section")
}

func (z ZooKeeperConfig) check(ps *problems) {
	list := path{SectionZooKeeper, "servers"}
	if len(z.Servers) == 0 && !ps.has(list) {
		ps.at(list, "no servers are listed; write all, such as 10.0.0.1:2181")
	}
	for i, text := range z.Servers {
		host, port, err := net.SplitHostPort(text)
		switch at := list.with(strconv.Itoa(i)); {
		case err != nil || host == "" || port == "" || strings.ContainsAny(text, "/@, "):
			ps.at(at, "is no server of ZooKeeper; write its host and port, such as 10.0.0.1:2181; chroot, user and password have keys of their own")
		case slices.Contains(z.Servers[:i], text):
			ps.at(at, "%s is listed twice", text)
		}
	}
	if at := z.Chroot; at != "" && (!strings.HasPrefix(at, "/") || strings.HasSuffix(at, "/") || strings.Contains(at, "//")) {
		ps.at(path{SectionZooKeeper, "chroot"}, "is no path of a node; write one such as /apps/billing")
	}
	ps.together(SectionZooKeeper, z.Username, z.Password)
	z.TLS.check(ps, path{SectionZooKeeper, "tls"}, false, "")
}

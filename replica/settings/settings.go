// Package settings has the sections of config.yaml as Go: a file and a program describe a
// replica with the same structs. A program sets them in a replica.Config:
//
//	replica.Config{
//		Redis: settings.Redis{Nodes: []settings.Node{{URL: "redis://10.0.0.1:6379"}, …}},
//		Lock:  settings.Lock{TTL: 30 * time.Second},
//	}
//
// The tag json of a field is its key in the file, and the tag jsonschema says what it means.
// The tag range has the values that it may have, and the tag choices those of a text.
//
// In a program the zero value of a field means the setting of the file or, without one, the
// default. A field is a pointer if zero is a setting of its own: new(false) and new(0)
// override the file, nil does not.
package settings

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/quorate/quorate/internal/refs"
	"github.com/quorate/quorate/scheduler/identity"
)

// Replica names this process.
type Replica struct {
	ID     string            `json:"id,omitempty" jsonschema:"Name of this replica; default: host name and random hex digits, new at each start."`
	Labels map[string]string `json:"labels,omitempty" jsonschema:"Labels by which jobs choose replicas, such as zone: a."`
}

// Redis names the nodes, or the one Redis, and says how to reach and to trust them.
type Redis struct {
	Nodes    []Node `json:"nodes,omitempty" jsonschema:"1, 3, 5 or 7 independent Redis masters."`
	URL      Secret `json:"url,omitempty" jsonschema:"One Redis in place of nodes, by an address that stays after a failover: redis://[user:password@]host[:port], or rediss:// for TLS."`
	Sentinel struct {
		Master    string   `json:"master" jsonschema:"Name under which the Sentinels watch it, such as mymaster."`
		Addresses []Secret `json:"addresses" jsonschema:"URLs of the Sentinels, with their user and password: redis://10.0.0.1:26379. With rediss:// the master speaks TLS, too."`
	} `json:"sentinel,omitzero" jsonschema:"One Redis in place of nodes: the master that Sentinels name."`
	Cluster struct {
		Addresses []Secret `json:"addresses" jsonschema:"URLs of some of its servers: redis://10.0.0.1:6379."`
	} `json:"cluster,omitzero" jsonschema:"One Redis in place of nodes: the server of a Redis Cluster that has the keys of the namespace."`
	Copies       *int          `json:"copies,omitempty" range:"0.." wrong:"is negative; write how many replicas the Redis has, or 0" jsonschema:"Number of all replicas of the one Redis: a claim counts when all of them have it. 0: a tick may run twice if an old master still runs after a failover."`
	Username     Secret        `json:"username,omitempty" jsonschema:"ACL user, for nodes whose URL has none."`
	Password     Secret        `json:"password,omitempty" jsonschema:"Password, for nodes whose URL has none. Better a reference: ${env:NAME} or ${file:/path}."`
	TLS          TLS           `json:"tls,omitzero" jsonschema:"For nodes with a rediss:// URL."`
	NodeTimeout  time.Duration `json:"node_timeout,omitempty" range:"1ms.." jsonschema:"Limit of one call to one node; below lock.ttl/4."`
	RestartGrace time.Duration `json:"restart_grace,omitempty" range:"1ms.." jsonschema:"How long a restarted node abstains; above lock.ttl. The nodes store it."`
	Durable      *bool         `json:"durable,omitempty" jsonschema:"true if no node ever loses data: appendfsync always, and no failover that loses any."`
}

// A Node is one entry of the list: a URL, or a URL with a name.
type Node struct {
	Name string `json:"name,omitempty" jsonschema:"Name of the node, by which replicas know it; default: host:port."`
	URL  Secret `json:"url" jsonschema:"redis://[user:password@]host[:port], or rediss:// for TLS."`
}

// Nodes returns the list of nodes with these URLs, which replicas know by host:port.
func Nodes(urls ...string) []Node {
	list := make([]Node, len(urls))
	for i, url := range urls {
		list[i].URL = Secret(url)
	}
	return list
}

// TLS adds to what the URLs of servers say. The files are read anew at each connection.
type TLS struct {
	CAFile     string `json:"ca_file,omitempty" jsonschema:"PEM file with the certificates to trust instead of those of the system."`
	CertFile   string `json:"cert_file,omitempty" jsonschema:"PEM file with the client certificate."`
	KeyFile    string `json:"key_file,omitempty" jsonschema:"PEM file with the key of the client certificate."`
	ServerName string `json:"server_name,omitempty" jsonschema:"Name in the certificates of the nodes, if it is not their host."`
}

// Postgres names the database and says how long to wait for it.
type Postgres struct {
	URL           Secret        `json:"url" jsonschema:"postgres://user@host:5432/database. Better with a reference as its password: ${env:NAME} or ${file:/path}."`
	Timeout       time.Duration `json:"timeout,omitempty" range:"1ms.." jsonschema:"Limit of one call; below lock.ttl/4."`
	FailoverGrace time.Duration `json:"failover_grace,omitempty" range:"1ms.." jsonschema:"How long no tick runs after another server has taken over; above lock.ttl."`
	Durable       *bool         `json:"durable,omitempty" jsonschema:"true if no failover loses what was committed."`
}

// MySQL names the server, which may be a MariaDB, and says how to reach and to trust it.
type MySQL struct {
	URL           Secret        `json:"url" jsonschema:"mysql://user@host:3306, with ?tls=true, skip-verify or preferred for TLS. The namespace is the name of the database. Better with a reference as its password: ${env:NAME} or ${file:/path}."`
	TLS           TLS           `json:"tls,omitzero" jsonschema:"Set any of its keys to reach the server by TLS, as with tls=true."`
	Timeout       time.Duration `json:"timeout,omitempty" range:"1ms.." jsonschema:"Limit of one call; below lock.ttl/4."`
	FailoverGrace time.Duration `json:"failover_grace,omitempty" range:"1ms.." jsonschema:"How long no tick runs after another server has taken over; above lock.ttl."`
}

// SQLite names the file of a database that the processes of one host share.
type SQLite struct {
	Path         string        `json:"path" jsonschema:"Path of the file, on a local disk. A relative path starts at the folder of the configuration file; in a program without one, at the folder of the process."`
	Timeout      time.Duration `json:"timeout,omitempty" range:"1ms.." jsonschema:"Limit of one call; below lock.ttl/4."`
	RestoreGrace time.Duration `json:"restore_grace,omitempty" range:"1ms.." jsonschema:"How long no tick runs after another file has taken the place of this one; above lock.ttl."`
}

// Etcd names the members of an etcd cluster and says how to reach and to trust them.
type Etcd struct {
	Endpoints    []string      `json:"endpoints" jsonschema:"The URLs of all members, such as https://10.0.0.1:2379."`
	Username     Secret        `json:"username,omitempty" jsonschema:"User of etcd, if it has users."`
	Password     Secret        `json:"password,omitempty" jsonschema:"Password of that user. Better a reference: ${env:NAME} or ${file:/path}."`
	TLS          TLS           `json:"tls,omitzero" jsonschema:"For https:// endpoints."`
	Timeout      time.Duration `json:"timeout,omitempty" range:"1ms.." jsonschema:"Limit of one call; below lock.ttl/4."`
	RestoreGrace time.Duration `json:"restore_grace,omitempty" range:"1ms.." jsonschema:"After a backup was restored, no tick runs for one and a half of it; above lock.ttl."`
}

// ZooKeeper names the servers of a ZooKeeper ensemble and says how to reach and to trust them.
type ZooKeeper struct {
	Servers      []string      `json:"servers" jsonschema:"All servers, as host:port, such as 10.0.0.1:2181."`
	Chroot       string        `json:"chroot,omitempty" jsonschema:"The node below which all nodes are, such as /apps; default: the root."`
	Username     Secret        `json:"username,omitempty" jsonschema:"User of the digest scheme. Only this user has rights to the nodes that replicas create."`
	Password     Secret        `json:"password,omitempty" jsonschema:"Password of that user. Better a reference: ${env:NAME} or ${file:/path}."`
	TLS          TLS           `json:"tls,omitzero" jsonschema:"Set any of its keys to reach the servers by TLS."`
	Timeout      time.Duration `json:"timeout,omitempty" range:"1ms.." jsonschema:"Limit of one call; below lock.ttl/4."`
	RestoreGrace time.Duration `json:"restore_grace,omitempty" range:"1ms.." jsonschema:"After a backup was restored, no tick runs for one and a half of it; above lock.ttl."`
}

// Lock bounds the lease of a run.
type Lock struct {
	TTL          time.Duration  `json:"ttl,omitempty" range:"1ms.." jsonschema:"Length of a lease: how long a dead replica blocks its job. Below the grace of the store, such as redis.restart_grace."`
	ExtendEvery  time.Duration  `json:"extend_every,omitempty" range:"0.." wrong:"is negative; remove it for the default, lock.ttl/3" jsonschema:"Pause between two extensions of a lease; default: ttl/3."`
	SafetyMargin time.Duration  `json:"safety_margin,omitempty" range:"0|1ms.." jsonschema:"The context of a run ends this long before its lease; default: ttl/10."`
	MaxHold      *time.Duration `json:"max_hold,omitempty" jsonschema:"Limit of the lease of one run, whatever its timeout; at least ttl. 0s: no limit."`
}

// HTTP says what is served over HTTP, and to whom.
type HTTP struct {
	Listen   string `json:"listen,omitempty" jsonschema:"host:port of the API and the dashboard, such as 127.0.0.1:8080. Without probes_listen it also serves the probes and metrics. Empty: off. Port 0: any free port, which the log names."`
	BasePath string `json:"base_path,omitempty" jsonschema:"Prefix of all paths, such as /admin/cron, for a proxy that passes it on."`
	// TLS has the files of the server, which are read again when they have changed.
	TLS struct {
		CertFile string `json:"cert_file,omitempty" jsonschema:"PEM file with the certificate, and those that lead to its authority."`
		KeyFile  string `json:"key_file,omitempty" jsonschema:"PEM file with its key."`
	} `json:"tls,omitzero" jsonschema:"Certificate of listen; without one it speaks plain HTTP."`
	Anonymous        identity.Anonymous `json:"anonymous,omitempty" jsonschema:"Requests that may read without a user. loopback: those from this machine that name no proxy. all: those that come from no trusted proxy. Commands always need a user."`
	AnonymousMetrics identity.Anonymous `json:"anonymous_metrics,omitempty" jsonschema:"The same for /metrics on listen. On probes_listen, /metrics is open to everyone."`
	Users            map[string]User    `json:"users,omitempty" jsonschema:"The users by name."`
	UsersFile        string             `json:"users_file,omitempty" jsonschema:"YAML file with more users, in the form of users. The replica reads it again when it changes."`
	SessionKey       Secret             `json:"session_key,omitempty" jsonschema:"Key of at least 32 characters that signs the cookies of logins, the same on all replicas. Better a reference. Without it browsers log in by HTTP Basic."`
	TrustedProxies   struct {
		Addresses  []string `json:"addresses,omitempty" jsonschema:"Addresses of the proxies, such as 10.0.0.7 or 10.0.0.0/8. X-Forwarded-For counts from them, too."`
		UserHeader string   `json:"user_header,omitempty" jsonschema:"Header with the name of the user, such as X-Forwarded-User. The proxy must remove it from the requests of its clients."`
		Role       string   `json:"role,omitempty" choices:"none,viewer,operator,admin" jsonschema:"Role of users whom the proxy names and users does not list."`
	} `json:"trusted_proxies,omitzero" jsonschema:"Proxies that may name the user, for single sign-on."`
	ProbesListen string `json:"probes_listen,omitempty" jsonschema:"host:port for /healthz, /readyz and /metrics alone. Empty: listen serves them. Port 0: any free port, which the log names."`
}

// User is what one user may do, and how they log in.
type User struct {
	Role     identity.Role `json:"role,omitempty" jsonschema:"viewer: reads. operator: also triggers, pauses, resumes, backfills and cancels. admin: also takes locks away."`
	Password Secret        `json:"password,omitempty" jsonschema:"Output of quorate users password, or a reference to that."`
	Token    Secret        `json:"token,omitempty" jsonschema:"Output of quorate users token, or a reference to that."`
}

// Scheduler holds what concerns all jobs of a replica.
type Scheduler struct {
	Timezone       string         `json:"timezone,omitempty" jsonschema:"Time zone of schedules that name none, such as Europe/Paris."`
	DrainTimeout   time.Duration  `json:"drain_timeout,omitempty" range:"1ms.." jsonschema:"How long running jobs may take to end after SIGTERM."`
	Stagger        *time.Duration `json:"stagger,omitempty" range:"0.." jsonschema:"Pause between the tries of two replicas for one tick, by rank; about three round trips."`
	ReloadEvery    *time.Duration `json:"reload_every,omitempty" range:"0.." jsonschema:"How often the replica checks whether this file has changed. 0s: it reads it again only at SIGHUP."`
	SourceEvery    time.Duration  `json:"source_every,omitempty" range:"1ms.." jsonschema:"How often the source of jobs of your program is asked, if there is one."`
	ForgetAfter    *time.Duration `json:"forget_after,omitempty" range:"0|1h..8760h" wrong:"is not between 1h0m0s and 8760h0m0s; write how long after it was last served a job is forgotten, or 0s for never" jsonschema:"The store drops the claims, ledger and logs of a job that no replica served for so long; 1h to 8760h. 0s: never."`
	MaxClockOffset time.Duration  `json:"max_clock_offset,omitempty" range:"1ms.." jsonschema:"A replica whose clock is further than this from the median of the clocks of the nodes tries last."`
	MaxRunning     *int           `json:"max_running,omitempty" range:"0.." wrong:"is negative; write how many runs may go on at once, or 0 for no limit" jsonschema:"How many runs this replica has at once; other replicas run the rest. 0: no limit."`
}

// Webhook is an endpoint that gets the events of ticks and runs.
type Webhook struct {
	URL     Secret            `json:"url" jsonschema:"Address that gets the messages. Better a reference if it holds a secret: ${env:NAME} or ${file:/path}."`
	Events  []string          `json:"events" choices:"started,finished,failed,late,lease_lost,missed,skipped" jsonschema:"Kinds of events to send."`
	Jobs    []string          `json:"jobs,omitempty" jsonschema:"Only events of these jobs, and of jobs with one of the tags; default: all jobs."`
	Tags    []string          `json:"tags,omitempty" jsonschema:"Only events of jobs with one of these tags, and of those under jobs; default: all jobs."`
	Headers map[string]Secret `json:"headers,omitempty" jsonschema:"Headers to send. Better references if they hold secrets."`
	Secret  Secret            `json:"secret,omitempty" jsonschema:"Signs each message as Standard Webhooks say: whsec_ and 24 to 64 random bytes in base64. While one secret replaces another, both, with a space between. Better references."`
	Timeout time.Duration     `json:"timeout,omitempty" range:"0|1ms.." jsonschema:"Limit of one try; default: 5s."`
}

// A Secret is a text that may hold a secret, such as a password or a URL with one. Prints, logs,
// JSON and YAML show three stars in its place. They show what tells no secret: references, and of
// a URL the scheme, the host and the user.
//
// It may hold references such as ${env:NAME} and ${file:/path}. Each use resolves them anew, so
// a secret can be replaced without a restart.
type Secret string

// String returns the text with its secrets hidden.
func (s Secret) String() string { return refs.Hide(string(s), true) }

// Format implements fmt.Formatter: no verb shows more than String.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, s.String()) }

// MarshalText implements encoding.TextMarshaler, which JSON, YAML and slog ask.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Resolve returns the text with its references resolved as they are now. The error names the
// reference that cannot be, and shows no content. A text that resolves to nothing is an error,
// too: it would silently stand for the default.
func (s Secret) Resolve() (string, error) {
	text, err := refs.Resolve(string(s))
	if err == nil && text == "" && s != "" {
		return "", fmt.Errorf("%s is empty; give it a value, or remove the setting for its default", string(s))
	}
	return text, err
}

// A Problem is one mistake in a configuration.
type Problem struct {
	// File that holds the mistake, or the environment variable or --set that
	// does; empty for settings of a program.
	File string
	// Line and Column count from 1; zero if there is no such place.
	Line, Column int
	// Path of the value, such as jobs.report.timeout.
	Path string
	// Msg says what is wrong, and after a semicolon what to write instead.
	Msg string
}

// String writes the problem in one line: file:line:column: path: message.
func (p Problem) String() string {
	place := p.File
	if p.Line > 0 {
		place = fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
	}
	msg := strings.Join(strings.FieldsFunc(p.Msg, func(r rune) bool { return r == '\n' || r == '\r' }), "; ")
	parts := []string{place, p.Path, msg}
	return strings.Join(slices.DeleteFunc(parts, func(part string) bool { return part == "" }), ": ")
}

// An Error holds every mistake of a configuration, in the order of the
// file; those of environment variables and --set come last.
type Error struct{ Problems []Problem }

// MostShown is how many problems are shown; the others are counted.
const MostShown = 20

// Error returns one line per problem, of the first MostShown.
func (e *Error) Error() string {
	var lines []string
	for _, p := range e.Problems[:min(len(e.Problems), MostShown)] {
		lines = append(lines, p.String())
	}
	if more := len(e.Problems) - MostShown; more > 0 {
		lines = append(lines, fmt.Sprintf("and %d more mistakes: mend these, and check again", more))
	}
	return strings.Join(lines, "\n")
}

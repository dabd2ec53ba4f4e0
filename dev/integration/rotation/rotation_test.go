// Package rotation_test holds the tests of passwords and certificates that are replaced while a
// replica runs. These are all stores, and what each test replaces. The server's certificate is
// replaced together with the authority (ca_file, sslrootcert) that signed it.
//
//	store          password              server's certificate   client's certificate
//	PostgreSQL     TestPostgres          TestPostgres           TestPostgres
//	one Redis      TestOneRedis          TestOneRedis           TestOneRedis
//	Redis nodes    TestNodes             TestNodes              TestNodes
//	Sentinel       TestSentinel          TestSentinel           TestSentinel
//	Redis Cluster  TestCluster           TestCluster            TestCluster
//	etcd           etcd.TestRotation     etcd.TestRotation      etcd.TestRotation
//	ZooKeeper      zookeeper.Test…       zookeeper.Test…        zookeeper.Test…
//	               PasswordRotation      CertificateRotation    CertificateRotation
package rotation_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/quorate/quorate/dev/testkit/logtest"
	"github.com/quorate/quorate/dev/testkit/pgtest"
	"github.com/quorate/quorate/dev/testkit/redistest"
	"github.com/quorate/quorate/internal/config"
	"github.com/quorate/quorate/internal/store/quorum/membership"
	"github.com/quorate/quorate/internal/store/single/claims"
	"github.com/quorate/quorate/internal/store/single/postgres"
	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/replica"
	store "github.com/quorate/quorate/stores/postgres"
)

// A rig is a replica whose job runs each second, and the files with its secrets.
type rig struct {
	*testing.T
	dir string
	ran chan struct{}
	log logtest.Buffer
}

func newRig(t *testing.T) *rig {
	t.Helper()
	return &rig{T: t, dir: t.TempDir(), ran: make(chan struct{}, 1)}
}

// file is the path of a file with a secret.
func (r *rig) file(name string) string { return filepath.Join(r.dir, name) }

func (r *rig) secret(text string) {
	r.Helper()
	if err := os.WriteFile(r.file("secret"), []byte(text+"\n"), 0o600); err != nil {
		r.Fatal(err)
	}
}

// replica is one on a store of the configuration, in which {dir} is the folder of the files.
func (r *rig) replica(section string) *replica.Replica {
	r.Helper()
	path := r.file("config.yaml")
	text := strings.ReplaceAll(section, "{dir}", r.dir) +
		"\nnamespace: rotation\nscheduler: {reload_every: 1s}\njobs: {j: {func: count, schedule: '@every 1s'}}\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		r.Fatal(err)
	}
	registry := jobs.NewRegistry()
	jobs.Register(registry, "count", func(ctx context.Context, run jobs.Run, _ struct{}) error { return r.count(ctx, run) })
	cfg, err := replica.Read(path, registry)
	if err != nil {
		r.Fatal(err)
	}
	cfg.Store, cfg.Logger = new(store.Store), slog.New(slog.NewTextHandler(&r.log, nil))
	return r.new(cfg)
}

func (r *rig) new(cfg replica.Config) *replica.Replica {
	r.Helper()
	one, err := replica.New(cfg)
	if err != nil {
		r.Fatal(err)
	}
	return one
}

// count is the job.
func (r *rig) count(context.Context, jobs.Run) error {
	select {
	case r.ran <- struct{}{}:
	default: // the last one was not awaited
	}
	return nil
}

// run runs a replica until the test ends, and waits for its job.
func (r *rig) run(one *replica.Replica) {
	r.Helper()
	ctx, stop := context.WithCancel(context.WithoutCancel(r.Context()))
	ended := make(chan error)
	go func() { ended <- one.Run(ctx) }()
	r.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			r.Error(err)
		}
		if r.Failed() {
			r.Log(r.log.String())
		}
	})
	r.awaitRuns()
}

// initialize declares the nodes of the configuration new.
func (r *rig) initialize() {
	r.Helper()
	cluster, err := config.ReadCluster(config.Source{Path: r.file("config.yaml"), Environ: []string{}})
	if err != nil {
		r.Fatal(err)
	}
	set, err := membership.Open(cluster.Redis)
	if err != nil {
		r.Fatal(err)
	}
	defer func() { _ = set.Close() }()
	redistest.Await(r, "the store to be initialized", func(ctx context.Context) bool {
		err := set.Init(ctx, false)
		if err != nil { // servers answer late on a busy machine
			r.Logf("initializing the store: %v", err)
		}
		return err == nil
	})
}

// awaitRuns waits for some runs that begin now or later.
func (r *rig) awaitRuns() {
	r.Helper()
	select {
	case <-r.ran: // an earlier one
	default:
	}
	for range 3 {
		select {
		case <-r.ran:
		case <-time.After(2 * time.Minute):
			r.Fatal("no tick runs")
		}
	}
}

// awaitLog waits until the log has the text.
func (r *rig) awaitLog(text string) {
	r.Helper()
	redistest.Await(r, "the log to say: "+text, func(context.Context) bool { return strings.Contains(r.log.String(), text) })
}

// owned is a PostgreSQL server with a schema for replicas, and its owner's connection.
func (r *rig) owned() (*pgtest.Server, *pgx.Conn) {
	r.Helper()
	server := pgtest.Start(r)
	s, err := postgres.Open(r.Context(), postgres.Config{URL: server.URL(), Schema: "rotation"})
	if err != nil {
		r.Fatal(err)
	}
	defer s.Close()
	if _, err := s.Migrate(r.Context()); err != nil {
		r.Fatal(err)
	}
	if err := claims.DeclareNew(r.Context(), s); err != nil {
		r.Fatal(err)
	}
	owner, err := pgx.Connect(r.Context(), server.URL())
	if err != nil {
		r.Fatal(err)
	}
	r.Cleanup(func() { _ = owner.Close(context.WithoutCancel(r.Context())) })
	r.exec(owner, "CREATE ROLE app LOGIN PASSWORD 'before';"+postgres.Grants("rotation", "app"))
	return server, owner
}

func (r *rig) exec(c *pgx.Conn, sql string) {
	r.Helper()
	if _, err := c.Exec(r.Context(), sql); err != nil {
		r.Fatal(err)
	}
}

// write writes a certificate and its key to the files of the replica.
func (r *rig) write(ca *redistest.CA) {
	r.Helper()
	ca.Write(r, r.dir)
}

const endConnections = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'app'"

// A PostgreSQL server gets another password, another certificate, and another authority of clients.
func TestPostgres(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	server, owner := r.owned()
	ca := redistest.NewCA(t)
	server.Secure(t, ca.PEM(), ca.KeyPEM())
	r.write(ca)
	r.secret("before")
	r.run(r.replica(fmt.Sprintf("postgres: {url: 'postgres://app:${file:{dir}/secret}@%s/postgres?sslmode=verify-full&sslrootcert={dir}/cert.pem&sslcert={dir}/cert.pem&sslkey={dir}/key.pem'}", server.Addr())))

	r.exec(owner, "ALTER ROLE app PASSWORD 'after'")
	r.exec(owner, endConnections)
	r.awaitLog("wrong user or password") // until the file follows
	r.secret("after")
	r.awaitRuns()
	r.awaitLog("files that the configuration refers to have changed")

	ca = redistest.NewCA(t)
	server.Secure(t, ca.PEM(), ca.KeyPEM())
	r.exec(owner, endConnections)
	r.awaitLog("certificate of the server is not trusted")
	r.write(ca)
	r.awaitRuns()
}

// startOn runs a replica on Redis servers. A call may last longer than by default: on a busy machine the handshake
// of TLS and the login take most of a second, and a connection that comes too late is given up.
func (r *rig) startOn(section string) {
	r.Helper()
	one := r.replica("redis: {" + section + ", node_timeout: 3s, tls: {ca_file: {dir}/cert.pem, cert_file: {dir}/cert.pem, key_file: {dir}/key.pem}}")
	r.initialize()
	r.run(one)
}

// rotate gives the servers another certificate and another authority of clients, and then their user
// another password. It ends the connections each time.
func (r *rig) rotate(list []*redistest.Server) {
	r.Helper()
	ca := redistest.NewCA(r)
	for _, s := range list {
		s.Renew(ca)
	}
	r.awaitLog("not run here") // until the files follow
	r.write(ca)
	r.awaitRuns()
	for _, s := range list {
		c := s.Client()
		for _, command := range [][]any{{"acl", "setuser", "app", "resetpass", ">after"}, {"client", "kill", "user", "app"}} {
			if err := c.Do(r.Context(), command...).Err(); err != nil {
				r.Fatal(err)
			}
		}
	}
	r.secret("after")
	r.awaitRuns()
}

// secured are the options of servers that ask for a password and for a client's certificate. The
// rig's files have both.
func (r *rig) secured() []redistest.Option {
	r.Helper()
	r.secret("before")
	ca := redistest.NewCA(r)
	r.write(ca)
	return []redistest.Option{redistest.TLS(ca), redistest.Conf("tls-auth-clients yes"), appUser}
}

var appUser = redistest.Conf("user app on >before ~* &* +@all")

// urls names the servers, with the user and the file of its password.
func urls(list []*redistest.Server) string {
	var all []string
	for _, s := range list {
		all = append(all, fmt.Sprintf("'rediss://app:${file:{dir}/secret}@%s'", s.Addr()))
	}
	return "[" + strings.Join(all, ", ") + "]"
}

// So do Redis nodes, in the URL of each.
func TestNodes(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	list := redistest.StartN(t, 3, r.secured()...)
	r.startOn("nodes: " + urls(list))
	r.rotate(list)
}

// One Redis, with the user beside the URL.
func TestOneRedis(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s := redistest.Start(t, r.secured()...)
	r.startOn("url: 'rediss://" + s.Addr() + "', username: app, password: '${file:{dir}/secret}'")
	r.rotate([]*redistest.Server{s})
}

// The servers of a Redis Cluster.
func TestCluster(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	list := redistest.StartCluster(t, 0, r.secured()...)
	r.startOn("cluster: {addresses: " + urls(list[:1]) + "}")
	r.rotate(list)
}

// A master, its replica and the Sentinels that name it.
func TestSentinel(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	options := r.secured()
	master := redistest.Start(t, options...)
	list := redistest.StartReplicas(t, master, 1, options...)
	watchers := redistest.StartSentinels(t, master.Addr(), 1, options...)
	r.startOn("sentinel: {master: " + redistest.MasterName + ", addresses: " + urls(watchers) + "}, username: app, password: '${file:{dir}/secret}'")
	r.rotate(slices.Concat([]*redistest.Server{master}, list, watchers))
}

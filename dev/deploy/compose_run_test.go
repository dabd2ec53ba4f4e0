package deploy

import (
	"bufio"
	"cmp"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/compose-spec/compose-go/v2/types"

	"github.com/quorate/quorate/dev/testkit/pgtest"
	"github.com/quorate/quorate/dev/testkit/servertest"
)

// A composition is what a Compose file describes, run as processes of this machine: the
// commands of its services, with the files that they mount. Only paths, hosts and ports
// differ.
type composition struct {
	t       *testing.T
	project *types.Project
	program string   // what its image has as quorate
	here    []string // pairs of what a container has and what this machine has in its place
}

func newComposition(t *testing.T, name string) *composition {
	t.Helper()
	c := &composition{t: t, project: load(t, copyOf(t, name)), program: "quorate"}
	for _, service := range c.project.Services {
		for _, secret := range service.Secrets {
			c.put(cmp.Or(secret.Target, "/run/secrets/"+secret.Source), c.project.Secrets[secret.Source].File)
		}
	}
	replica := c.project.Services["replica"]
	for _, volume := range replica.Volumes {
		c.put(volume.Target, volume.Source)
	}
	if replica.Build != nil {
		c.program = built(t, replica.Build)
	}
	return c
}

// installs is what a Dockerfile installs of this repository.
var installs = regexp.MustCompile(`go install .*github\.com/quorate/quorate/(\S+)@v`)

// built builds from this tree what a Dockerfile installs.
func built(t *testing.T, build *types.BuildConfig) string {
	t.Helper()
	found := installs.FindStringSubmatch(read(t, filepath.Join(build.Context, "Dockerfile")))
	if found == nil {
		t.Fatalf("the Dockerfile in %s installs nothing", build.Context)
	}
	program := filepath.Join(t.TempDir(), "quorate")
	folder := os.Expand(found[1], func(arg string) string { return *cmp.Or(build.Args[arg], new(string)) })
	if err := run("go", "-C", filepath.Join(root, folder), "build", "-o", program, "."); err != nil {
		t.Fatal(err)
	}
	return program
}

func (c *composition) put(there, here string) { c.here = append(c.here, there, here) }

// on returns a text for this machine.
func (c *composition) on(text string) string {
	pairs := slices.SortedFunc(slices.Values(slices.Collect(slices.Chunk(c.here, 2))), func(a, b []string) int {
		return len(b[0]) - len(a[0]) // of /run/secrets/redis and /run/secrets/redis_acl the longer
	})
	return strings.NewReplacer(slices.Concat(pairs...)...).Replace(text)
}

func (c *composition) config() string { return c.on("/etc/quorate/config.yaml") }

// rewrite puts what is here into the configuration.
func (c *composition) rewrite() {
	c.t.Helper()
	if err := os.WriteFile(c.config(), []byte(c.on(read(c.t, c.config()))), 0o600); err != nil {
		c.t.Fatal(err)
	}
}

// command returns a command of quorate as a service runs it.
func (c *composition) command(ctx context.Context, set string, args ...string) *exec.Cmd {
	command := exec.CommandContext(ctx, c.program, append(args, "--config", c.config())...)
	if set != "" {
		command.Args = append(command.Args, "--set", "http/listen=127.0.0.1:0", "--set", "http/probes_listen="+set)
	}
	return command
}

func (c *composition) do(set string, args ...string) {
	c.t.Helper()
	if out, err := c.command(c.t.Context(), set, args...).CombinedOutput(); err != nil {
		c.t.Fatalf("quorate %q: %v, %s", args, err, out)
	}
}

// runs starts the replicas and waits until all are healthy and one has run a tick.
func (c *composition) runs() {
	c.t.Helper()
	replica := c.project.Services["replica"]
	c.do("", "store", "init")
	for range *replica.Deploy.Replicas {
		probes := "127.0.0.1:" + servertest.FreePort(c.t)
		command := c.command(c.t.Context(), probes, "run")
		servertest.Home{Dir: c.t.TempDir()}.Serve(c.t, servertest.Server{Bin: command.Path, Args: command.Args[1:], Ready: "serving /healthz", Stop: syscall.SIGTERM})
		c.do(probes, replica.HealthCheck.Test[2:]...)
	}
	ctx, cancel := context.WithTimeout(c.t.Context(), 2*time.Minute)
	defer cancel()
	follow := c.command(ctx, "", "runs", "--follow", "--outcome", "succeeded", "-o", "json")
	out, err := follow.StdoutPipe()
	if err == nil {
		err = follow.Start()
	}
	if err != nil {
		c.t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() && !strings.Contains(lines.Text(), `"heartbeat"`) {
	}
	if ctx.Err() != nil {
		c.t.Errorf("no tick of heartbeat succeeded: %s", quorate(c.t, "ticks", "heartbeat", "--config", c.config()))
	}
	cancel()
	_ = follow.Wait() // it was killed
}

func TestComposedRedisRuns(t *testing.T) {
	t.Parallel()
	c := newComposition(t, "redis")
	for _, name := range []string{"redis-a", "redis-b", "redis-c"} {
		node, port, data := c.project.Services[name], servertest.FreePort(t), t.TempDir()
		c.put(name+":6379", "127.0.0.1:"+port)
		args := []string{"-c", `exec "$0" "$@" >&2`} // Redis logs to the standard output
		for _, arg := range node.Command {
			args = append(args, strings.Replace(c.on(arg), node.Volumes[0].Target, data, 1))
		}
		servertest.Home{Dir: data}.Serve(t, servertest.Server{
			Bin: "/bin/sh", Args: append(args, "--port", port, "--bind", "127.0.0.1"), Ready: "Ready to accept connections", Stop: syscall.SIGTERM,
		})
		if out, err := exec.CommandContext(t.Context(), node.HealthCheck.Test[1], append([]string{"-p", port}, node.HealthCheck.Test[2:]...)...).Output(); string(out) != "PONG\n" {
			t.Errorf("the health check of %s says %s, %v", name, out, err)
		}
	}
	c.rewrite()
	c.runs()
}

func TestComposedPostgresRuns(t *testing.T) {
	t.Parallel()
	c := newComposition(t, "postgres")
	server, env := pgtest.Start(t), c.project.Services["postgres"].Environment
	user, database := *env["POSTGRES_USER"], *env["POSTGRES_DB"]
	password := strings.TrimSpace(read(t, c.on(*env["POSTGRES_PASSWORD_FILE"])))
	for _, statement := range []string{"CREATE ROLE " + user + " LOGIN PASSWORD '" + password + "'", "CREATE DATABASE " + database + " OWNER " + user} {
		if err := run(servertest.Program(t, "psql", "postgresql"), "-v", "ON_ERROR_STOP=1", server.URL(), "-c", statement); err != nil {
			t.Fatal(err)
		}
	}
	c.put("postgres:5432", server.Addr())
	c.rewrite()
	c.do("", c.project.Services["migrate"].Command...)
	c.runs()
}

func TestComposedMySQLRuns(t *testing.T) {
	t.Parallel()
	c := newComposition(t, "mysql")
	home, port, env := servertest.NewHome(t, "mysql"), servertest.FreePort(t), c.project.Services["mysql"].Environment
	user, database := *env["MARIADB_USER"], *env["MARIADB_DATABASE"]
	password := strings.TrimSpace(read(t, c.on(*env["MARIADB_PASSWORD_FILE"])))
	// As the image does in its first start.
	first := filepath.Join(home.Dir, "first.sql")
	text := "CREATE DATABASE " + database + ";\nCREATE USER " + user + "@'%' IDENTIFIED BY '" + password + "';\nGRANT ALL ON " + database + ".* TO " + user + "@'%';\n"
	if err := os.WriteFile(first, []byte(text), 0o644); err != nil { // the user of the server reads it
		t.Fatal(err)
	}
	data := filepath.Join(home.Dir, "data")
	home.Run(t, servertest.Program(t, "mariadb-install-db", "mariadb-server"), "--no-defaults", "--datadir="+data, "--tmpdir="+home.Dir,
		"--auth-root-authentication-method=normal", "--skip-test-db", "--skip-name-resolve")
	home.Serve(t, servertest.Server{
		Bin: servertest.Program(t, "mariadbd", "mariadb-server"),
		Args: []string{
			"--no-defaults", "--datadir=" + data, "--tmpdir=" + home.Dir, "--socket=" + filepath.Join(home.Dir, "s"), "--pid-file=" + filepath.Join(home.Dir, "pid"),
			"--bind-address=127.0.0.1", "--port=" + port, "--skip-name-resolve", "--init-file=" + first,
		},
		Ready: "ready for connections", Stop: syscall.SIGKILL,
	})
	c.put("mysql:3306", "127.0.0.1:"+port)
	c.rewrite()
	c.do("", c.project.Services["migrate"].Command...)
	c.runs()
}

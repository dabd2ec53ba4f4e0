package deploy

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"

	"github.com/quorate/quorate/internal/store/quorum/membership"
)

// A replica ends this much later than scheduler.drain_timeout at the latest, with time to
// spare. The systemd unit, Compose and the chart all give it so much.
const (
	drainTimeout = 20 * time.Second // its default
	stopMargin   = 40 * time.Second
)

var composed = []string{"redis", "postgres", "mysql"}

// copyOf is a folder of deploy/compose with its secrets, in a copy of deploy.
func copyOf(t *testing.T, name string) string {
	t.Helper()
	all := t.TempDir()
	if err := os.CopyFS(all, os.DirFS(filepath.Join(root, "deploy"))); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(all, "compose", name)
	if err := run("sh", filepath.Join(dir, "secrets.sh")); err != nil {
		t.Fatal(err)
	}
	return dir
}

// load reads a file as Compose does: it refuses what the specification does not have.
func load(t *testing.T, dir string) *types.Project {
	t.Helper()
	options, err := cli.NewProjectOptions([]string{filepath.Join(dir, "compose.yaml")}, cli.WithoutEnvironmentResolution)
	if err != nil {
		t.Fatal(err)
	}
	project, err := options.LoadProject(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return project
}

func TestCompose(t *testing.T) {
	t.Parallel()
	for _, name := range composed {
		dir := copyOf(t, name)
		project := load(t, dir)
		for _, service := range project.Services {
			checkService(t, project, service)
		}
		replica := project.Services["replica"]
		if replica.Deploy == nil || *replica.Deploy.Replicas != 3 {
			t.Errorf("%s: there are not three replicas", name)
		}
		if grace := time.Duration(*replica.StopGracePeriod); grace < drainTimeout+stopMargin {
			t.Errorf("%s: replicas have %v to end; they need %v", name, grace, drainTimeout+stopMargin)
		}
		if strings.Contains(read(t, filepath.Join(dir, "quorate/config.yaml")), "drain_timeout") {
			t.Errorf("%s sets drain_timeout; this test takes the default", name)
		}
		quorate(t, "validate", "--config", filepath.Join(dir, "quorate/config.yaml"))
	}
}

func checkService(t *testing.T, project *types.Project, service types.ServiceConfig) {
	t.Helper()
	name := project.Name + ": " + service.Name
	if !service.ReadOnly || !slices.Equal(service.CapDrop, []string{"ALL"}) || !slices.Contains(service.SecurityOpt, "no-new-privileges:true") {
		t.Errorf("%s may do more than it needs", name)
	}
	if _, tag, tagged := strings.Cut(service.Image, ":"); !tagged || tag == "latest" {
		t.Errorf("%s has the image %s, without a version", name, service.Image)
	}
	if service.HealthCheck == nil {
		t.Errorf("%s has no health check", name)
	}
	for _, port := range service.Ports {
		if service.Name != "replica" || port.HostIP != "127.0.0.1" {
			t.Errorf("%s publishes %+v; only dashboards may be, on loopback", name, port)
		}
	}
	for _, secret := range service.Secrets {
		if info, err := os.Stat(project.Secrets[secret.Source].File); err != nil || info.Mode().Perm() != 0o644 {
			t.Errorf("%s: secrets.sh writes no secret %s that all containers can read: %v, %v", name, secret.Source, info, err)
		}
	}
}

func TestComposedSecretsAreClosed(t *testing.T) {
	t.Parallel()
	for _, name := range composed {
		dir := copyOf(t, name)
		info, err := os.Stat(filepath.Join(dir, "secrets"))
		if err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%s: other users of the machine can read the secrets: %v, %v", name, info, err)
		}
		password := read(t, filepath.Join(dir, "secrets", name))
		if len(strings.TrimSpace(password)) != 48 || password == read(t, filepath.Join(copyOf(t, name), "secrets", name)) {
			t.Errorf("%s has the password %q", name, password)
		}
		if err := run("sh", filepath.Join(dir, "secrets.sh")); err == nil || password != read(t, filepath.Join(dir, "secrets", name)) {
			t.Errorf("%s: secrets.sh replaces a password that servers may have", name)
		}
	}
	for _, name := range composed {
		if info, err := os.Stat(filepath.Join(root, "deploy/compose", name, "secrets.sh")); err != nil || info.Mode()&0o111 == 0 {
			t.Errorf("%s: nobody can run secrets.sh: %v, %v", name, info, err)
		}
	}
	if acl := read(t, filepath.Join(root, "deploy/compose/redis/secrets.sh")); !strings.Contains(acl, " "+membership.ACLRules("quorate")+"\n") {
		t.Errorf("secrets.sh does not have the rules %s", membership.ACLRules("quorate"))
	}
}

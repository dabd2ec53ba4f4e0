// These tests need goreleaser, dpkg-deb and rpm: make release-check.

//go:build release

package release

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A build is what goreleaser makes of a tag.
type build struct {
	tree    string // the clone
	version string // without v
	commit  string
	date    string // of the commit
}

func (b build) file(name string) string { return filepath.Join(b.tree, "dist", name) }

// newBuild builds what a tag of the last commit would release.
func newBuild(t *testing.T, cache ...string) build {
	t.Helper()
	b := tagged(t)
	call(t, b.tree, cache, os.Getenv("GORELEASER"), "release", "--clean", "--skip=publish,announce,sign,sbom")
	return b
}

// tagged tags a clone of this repository as the newest version of CHANGELOG.md. Changes that
// are not committed are not in it.
func tagged(t *testing.T) build {
	t.Helper()
	b := build{tree: filepath.Join(t.TempDir(), "quorate")}
	call(t, ".", nil, "git", "clone", "--quiet", "../..", b.tree)
	b.version = newestVersion(t, read(t, filepath.Join(b.tree, "CHANGELOG.md")))
	for _, module := range published(t) {
		call(t, b.tree, nil, "git", "tag", "--force", module+"v"+b.version)
	}
	b.commit = call(t, b.tree, nil, "git", "rev-parse", "HEAD")
	b.date = call(t, b.tree, []string{"TZ=UTC"}, "git", "log", "-1", "--format=%cd", "--date=format-local:%Y-%m-%dT%H:%M:%SZ")
	return b
}

// call runs a program, which must succeed, and returns what it prints.
func call(t *testing.T, dir string, env []string, name string, args ...string) string {
	t.Helper()
	c := exec.CommandContext(t.Context(), name, args...)
	c.Dir, c.Env = dir, append(os.Environ(), env...)
	var complaints strings.Builder
	c.Stderr = &complaints
	out, err := c.Output()
	if err != nil {
		t.Fatalf("%s %v: %v\n%s%s", name, args, err, out, complaints.String())
	}
	return strings.TrimSpace(string(out))
}

// TestRelease builds the release twice, in two folders and with two caches. Both must be
// the same, bit by bit, and must have in them what they should.
func TestRelease(t *testing.T) {
	b := newBuild(t)
	sums := strings.Split(strings.TrimSpace(read(t, b.file("checksums.txt"))), "\n")
	t.Run("files", func(t *testing.T) {
		var names []string
		for _, line := range sums {
			_, name, _ := strings.Cut(line, "  ")
			names = append(names, strings.Replace(name, b.version, "V", 1))
		}
		want := []string{"quorate_V_linux_amd64.deb", "quorate_V_linux_amd64.rpm", "quorate_V_linux_arm64.deb", "quorate_V_linux_arm64.rpm"}
		for program := range programs {
			for _, platform := range platforms {
				want = append(want, program+"_V_"+platform+".tar.gz")
			}
		}
		slices.Sort(names)
		if slices.Sort(want); !slices.Equal(names, want) {
			t.Errorf("the release has %q, want %q", names, want)
		}
	})
	t.Run("archives", b.checkArchives)
	t.Run("deb", b.checkDeb)
	t.Run("rpm", b.checkRPM)
	t.Run("again", func(t *testing.T) {
		again := newBuild(t, "GOCACHE="+t.TempDir())
		if one, two := b.image(t), again.image(t); one != two {
			t.Errorf("the second image has the digest %s, the first %s", two, one)
		}
		if got := strings.Split(strings.TrimSpace(read(t, again.file("checksums.txt"))), "\n"); !slices.Equal(got, sums) {
			t.Errorf("the second build has the checksums\n%s\nthe first\n%s", strings.Join(got, "\n"), strings.Join(sums, "\n"))
		}
	})
}

// image makes the container image of the binaries and returns its digest.
func (b build) image(t *testing.T) string {
	t.Helper()
	return call(t, "../integration/image", nil, "go", "run", ".", "-out", b.file("image"), b.file("quorate_linux_amd64_v1/quorate"), b.file("quorate_linux_arm64_v8.0/quorate"))
}

// checkVersion runs a binary, which must say its name, version, commit, date and Go.
func (b build) checkVersion(t *testing.T, binary string) {
	t.Helper()
	got := call(t, ".", nil, binary, "version")
	if want := filepath.Base(binary) + " v" + b.version + " " + call(t, b.tree, nil, "go", "env", "GOVERSION") + " linux/amd64 commit " + b.commit[:12] + " " + b.date; got != want {
		t.Errorf("the binary says %q, want %q", got, want)
	}
}

var platforms = []string{"linux_amd64", "linux_arm64", "darwin_amd64", "darwin_arm64"}

// programs are those of a release, with what their archives have besides texts and themselves.
var programs = map[string][]string{
	"quorate": {"config.yaml", "quorate.service"}, "quorate-etcd": nil, "quorate-zookeeper": nil, "quorate-mysql": nil, "quorate-sqlite": nil,
}

func (b build) checkArchives(t *testing.T) {
	for program, more := range programs {
		files := slices.Concat([]string{"CHANGELOG.md", "LICENSE", "README.md", program}, more)
		slices.Sort(files)
		for _, platform := range platforms {
			name := program + "_" + b.version + "_" + platform
			got := strings.Fields(call(t, ".", nil, "tar", "tf", b.file(name+".tar.gz")))
			slices.Sort(got)
			var want []string
			for _, file := range files {
				want = append(want, name+"/"+file)
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s has %q, want %q", name, got, want)
			}
		}
		dir := t.TempDir()
		call(t, dir, nil, "tar", "xf", b.file(program+"_"+b.version+"_linux_amd64.tar.gz"), "--strip-components=1")
		b.checkVersion(t, filepath.Join(dir, program))
	}
}

// installed are the files of both packages, and their modes.
var installed = []string{
	"drwxr-x--- /etc/quorate", "-rw-r----- /etc/quorate/config.yaml", "-rwxr-xr-x /usr/bin/quorate",
	"-rw-r--r-- /usr/lib/systemd/system/quorate.service", "-rw-r--r-- /usr/lib/sysusers.d/quorate.conf", "-rw-r--r-- /usr/share/doc/quorate/copyright",
}

// checkInstalled compares a listing with lines such as "-rw-r--r-- root/root … ./path".
func checkInstalled(t *testing.T, listing string) {
	t.Helper()
	var got []string
	for line := range strings.Lines(listing) {
		fields := strings.Fields(line)
		if !strings.Contains(line, "root") {
			t.Errorf("not owned by root: %s", line)
		}
		path := strings.TrimSuffix(strings.TrimPrefix(fields[len(fields)-1], "."), "/")
		if entry := fields[0] + " " + path; fields[0][0] != 'd' || slices.Contains(installed, entry) {
			got = append(got, entry)
		}
	}
	slices.SortFunc(got, func(a, b string) int { return strings.Compare(a[10:], b[10:]) })
	if !slices.Equal(got, installed) {
		t.Errorf("the package has\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(installed, "\n"))
	}
}

func (b build) checkDeb(t *testing.T) {
	deb := b.file("quorate_" + b.version + "_linux_amd64.deb")
	checkInstalled(t, call(t, ".", nil, "dpkg-deb", "--contents", deb))
	root := t.TempDir()
	call(t, ".", nil, "dpkg-deb", "--raw-extract", deb, root)
	b.checkVersion(t, filepath.Join(root, "usr/bin/quorate"))
	call(t, ".", nil, filepath.Join(root, "usr/bin/quorate"), "validate", "--config", filepath.Join(root, "etc/quorate/config.yaml"))
	if read(t, filepath.Join(root, "usr/lib/systemd/system/quorate.service")) != read(t, filepath.Join(b.tree, "deploy/systemd/quorate.service")) {
		t.Error("the package has another unit")
	}
	for file, want := range map[string]string{"control": "\nVersion: " + b.version + "\n", "conffiles": "/etc/quorate/config.yaml\n", "postinst": "systemd-sysusers", "prerm": "disable --now"} {
		if got := read(t, filepath.Join(root, "DEBIAN", file)); !strings.Contains(got, want) {
			t.Errorf("%s of the package has no %q: %s", file, want, got)
		}
	}
}

func (b build) checkRPM(t *testing.T) {
	rpm := b.file("quorate_" + b.version + "_linux_amd64.rpm")
	checkInstalled(t, call(t, ".", nil, "rpm", "--query", "--package", "--list", "--verbose", rpm))
	for query, want := range map[string]string{"%{VERSION}": b.version, "%{BUILDHOST}": "localhost", "%{LICENSE}": "Apache-2.0"} {
		if got := call(t, ".", nil, "rpm", "--query", "--package", "--queryformat", query, rpm); got != want {
			t.Errorf("%s of the package is %q, want %q", query, got, want)
		}
	}
	if scripts := call(t, ".", nil, "rpm", "--query", "--package", "--scripts", rpm); !strings.Contains(scripts, "systemd-sysusers") || !strings.Contains(scripts, "disable --now") {
		t.Errorf("the package has other scripts: %s", scripts)
	}
}

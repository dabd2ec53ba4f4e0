package report

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"
)

// A Machine is what the figures depend on.
type Machine struct {
	Cores             int
	CPU, Kernel       string
	Go, Redis, Commit string
	Peers             []string // modules with their versions
	Date              string
	Load              string // of others, when the run began
	Took              time.Duration
}

// ThisMachine describes the machine and the program. It does not know the
// servers.
func ThisMachine(ctx context.Context) Machine {
	return Machine{
		Cores: runtime.NumCPU(), CPU: cpuModel(), Kernel: output(ctx, "uname", "-sr"), Go: runtime.Version(),
		Commit: commit(ctx), Peers: peers(), Date: time.Now().UTC().Format(time.DateOnly), Load: load(),
	}
}

// Markdown says it in a list.
func (m Machine) Markdown() string {
	return fmt.Sprintf("%s, commit %s: %d cores (%s), %s, %s, Redis %s; %s. All processes on this machine, over loopback; "+
		"load average at the beginning %s; the run took %v.\n",
		m.Date, m.Commit, m.Cores, m.CPU, m.Kernel, m.Go, m.Redis, strings.Join(m.Peers, ", "), m.Load, m.Took.Round(time.Second))
}

// compared are the modules whose versions matter.
var compared = []string{
	"github.com/go-redsync/redsync/v4", "github.com/bsm/redislock", "github.com/robfig/cron/v3",
	"github.com/go-co-op/gocron/v2", "github.com/redis/go-redis/v9",
}

func peers() []string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return nil
	}
	var list []string
	for _, m := range info.Deps {
		if slices.Contains(compared, m.Path) {
			list = append(list, strings.TrimPrefix(m.Path, "github.com/")+" "+m.Version)
		}
	}
	return list
}

// commit names the commit of the working tree, and says if it was changed.
func commit(ctx context.Context) string {
	name := output(ctx, "git", "rev-parse", "--short", "HEAD")
	if output(ctx, "git", "status", "--porcelain", "--untracked-files=no") != "" {
		name += " with changes"
	}
	return name
}

// output runs a command; what it does not tell is unknown.
func output(ctx context.Context, name string, args ...string) string {
	out, err := exec.CommandContext(ctx, name, args...).Output()
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(out))
}

func cpuModel() string {
	text, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return runtime.GOARCH
	}
	for line := range strings.Lines(string(text)) {
		if name, value, _ := strings.Cut(line, ":"); strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return runtime.GOARCH
}

func load() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	first, _, _ := strings.Cut(string(text), " ")
	return first
}

package execjob

import (
	"maps"
	"os"
	"slices"
	"strconv"

	"github.com/quorate/quorate/jobs"
)

// ownEnv names the variables that every command gets.
func ownEnv() []string {
	return []string{"QUORATE_JOB", "QUORATE_TICK", "QUORATE_TOKEN", "QUORATE_ATTEMPT", "QUORATE_REPLICA"}
}

// environment returns the command's environment.
func environment(run jobs.Run, p Params) []string {
	var env []string
	if p.InheritEnv {
		env = run.Environ()
	} else {
		for _, name := range []string{"PATH", "HOME", "TZ", "LANG"} {
			if value, ok := os.LookupEnv(name); ok {
				env = append(env, name+"="+value)
			}
		}
	}
	// For duplicate names os/exec takes the last value.
	for _, name := range slices.Sorted(maps.Keys(p.Env)) {
		env = append(env, name+"="+p.Env[name])
	}
	return append(env,
		"QUORATE_JOB="+run.Job,
		"QUORATE_TICK="+jobs.FormatTick(run.Tick),
		"QUORATE_TOKEN="+strconv.FormatUint(uint64(run.Token), 10),
		"QUORATE_ATTEMPT="+strconv.Itoa(run.Attempt),
		"QUORATE_REPLICA="+run.Replica,
	)
}

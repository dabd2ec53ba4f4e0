package rows

import (
	"context"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"

	"github.com/quorate/quorate/dev/bench/report"
)

var lostInVirtualTime = regexp.MustCompile(`(\d+) of (\d+) ticks without a winner, (\d+) replicas`)

// virtual counts what contention counts, in the simulation of whole clusters, which
// knows no machine that is too slow.
func virtual(ctx context.Context, env Env) (report.Section, error) {
	s := report.Section{Method: "The same replicas, jobs and latency in the simulation (`make sim`), whose time does not pass while code runs. " +
		"Ticks that are lost there are lost by the protocol."}
	args := []string{"test", "-count=1", "-v", "-run", "^TestNoTickWithoutAWinner$", "./dev/sim"}
	if !env.Size.Slow {
		args = append(args, "-short")
	}
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = "../.." // the repository
	out, err := cmd.CombinedOutput()
	found := lostInVirtualTime.FindSubmatch(out)
	if err != nil || found == nil {
		return s, fmt.Errorf("the simulation: %w\n%s", err, out)
	}
	lost, _ := strconv.Atoi(string(found[1])) // digits
	s.Results = []report.Result{{
		What: fmt.Sprintf("the same in virtual time, %s ticks, %s replicas", found[2], found[3]), Unit: report.Ticks,
		Ours: float64(lost), Bound: report.AtMost(0),
	}}
	env.Told("%s", found[0])
	return s, nil
}

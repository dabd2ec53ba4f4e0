package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/quorate/quorate/dev/bench/report"
)

// scenarios are the rows of docs/scale.md.
func scenarios() []Params {
	hourly := func(replicas, jobs int, run time.Duration) Params {
		p := typical
		p.Replicas, p.Jobs, p.Run = replicas, jobs, run
		p.Every, p.Instants = time.Hour, 60
		return p
	}
	minutely := func(replicas, dead int) Params {
		p := typical
		p.Replicas, p.Dead = replicas, dead
		return p
	}
	return []Params{
		minutely(5, 0), minutely(20, 0), minutely(50, 0), minutely(20, 10),
		hourly(20, 100_000, 0),
		hourly(100, 100_000, 0),
		hourly(100, 100_000, time.Minute),
		hourly(1000, 1_000_000, 0),
	}
}

func main() {
	one := typical
	var single bool
	flag.BoolVar(&single, "one", false, "simulate what the other flags say instead of the table")
	flag.IntVar(&one.Replicas, "replicas", one.Replicas, "that live")
	flag.IntVar(&one.Dead, "dead", one.Dead, "replicas that have just died")
	flag.IntVar(&one.Jobs, "jobs", one.Jobs, "in the whole cluster")
	flag.DurationVar(&one.Every, "every", one.Every, "pause between two ticks of a job")
	flag.IntVar(&one.Instants, "instants", one.Instants, "of that pause at which jobs are due")
	flag.DurationVar(&one.Run, "run", one.Run, "how long a run takes")
	flag.DurationVar(&one.RTT, "rtt", one.RTT, "round trip between a replica and a node")
	seed := flag.Uint64("seed", 1, "of the simulation")
	write := flag.String("write", "", "write the table into this `page`, too")
	flag.Parse()
	list := scenarios()
	if single {
		list = []Params{one}
	}
	if err := show(list, *seed, *write); err != nil {
		fmt.Fprintln(os.Stderr, "scale:", err)
		os.Exit(1)
	}
}

// show prints the table, and writes it into a page if one is named.
func show(list []Params, seed uint64, page string) error {
	var text strings.Builder
	if err := table(io.MultiWriter(os.Stdout, &text), list, seed); err != nil || page == "" {
		return err
	}
	return report.Between(page, "scale", "```\n"+text.String()+"```\n")
}

// table prints a row per cluster: by the formula / as simulated.
func table(to io.Writer, list []Params, seed uint64) error {
	t := tabwriter.NewWriter(to, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "replicas\tjobs\trun\tdue\tcalls/tick\tcommands/tick\tnode busy\tlast begun\tstanding\t")
	for _, p := range list {
		if err := p.Validate(); err != nil {
			return err
		}
		said, seen := Formula(p), Simulate(p, seed)
		if seen.Wrong > 0 {
			return fmt.Errorf("%d of %d ticks did not run exactly once", seen.Wrong, p.due())
		}
		replicas := fmt.Sprint(p.Replicas)
		if p.Dead > 0 {
			replicas += fmt.Sprintf("+%d dead", p.Dead)
		}
		fmt.Fprintf(t, "%s\t%d\t%v\t%d\t%.4g / %.4g\t%.4g / %.4g\t%v / %v\t%v / %v\t%.1f %%\t\n",
			replicas, p.Jobs, p.Run, p.due(),
			said.calls(), seen.calls(), said.Commands, seen.Commands,
			short(said.Busy), short(seen.Busy), short(said.Last), short(seen.Last), 100*Standing(p))
	}
	return t.Flush()
}

func short(d time.Duration) time.Duration {
	if d > time.Second {
		return d.Round(10 * time.Millisecond)
	}
	return d.Round(100 * time.Microsecond)
}

package cmd

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"time"

	"github.com/spf13/cobra"

	"github.com/quorate/quorate/scheduler"
	"github.com/quorate/quorate/scheduler/listing"
)

// An author is who asks for an act, and why, as the flags say.
type author struct{ by, reason string }

// authorFlags adds --as and --reason to a command that acts.
func authorFlags(c *cobra.Command, who *author) {
	c.Flags().StringVar(&who.by, "as", "", "who asks, for the audit log (default `user@host`)")
	c.Flags().StringVar(&who.reason, "reason", "", "why, in a few `words`, for the audit log")
}

// sign puts the author's name and reason on the act.
func (w author) sign(act scheduler.Act) scheduler.Act {
	act.By, act.Reason = w.by, w.reason
	if act.By == "" {
		act.By = whoami()
	}
	return act
}

// whoami is the user and host of this process.
func whoami() string {
	name, host := os.Getenv("USER"), "unknown host"
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	if h, err := os.Hostname(); err == nil {
		host = h
	}
	return name + "@" + host
}

// asked marks what is wrong with an act as bad usage.
func asked(err error) error {
	_, bad := errors.AsType[*scheduler.ActError](err)
	_, invalid := errors.AsType[*listing.InvalidError](err)
	if bad || invalid {
		return usageError{err}
	}
	return err
}

// A target is what a pause is about: one job, a tag, or all jobs.
type target struct {
	tag string
	all bool
}

func targetFlags(c *cobra.Command, t *target) {
	c.Flags().StringVar(&t.tag, "tag", "", "all jobs with this `tag`")
	c.Flags().BoolVar(&t.all, "all", false, "all jobs of the namespace")
}

// act returns the act about the target, of which args may name a job.
func (t target) act(kind scheduler.ActKind, args []string) (scheduler.Act, error) {
	named := len(args)
	if t.tag != "" {
		named++
	}
	if t.all {
		named++
	}
	if named != 1 {
		return scheduler.Act{}, usageError{errors.New("name one job, or write --tag TAG or --all")}
	}
	act := scheduler.Act{Kind: kind, Tag: t.tag, All: t.all}
	if len(args) == 1 {
		act.Job = args[0]
	}
	return act, nil
}

// checkWithin refuses what would else be taken for the default.
func checkWithin(within time.Duration) error {
	if within < time.Second {
		return usageError{fmt.Errorf("--within %v: write 1s or more", within)}
	}
	return nil
}

// parseTime reads the time of a flag: RFC 3339, or a date, which is its midnight
// in UTC.
func parseTime(flag, text string) (time.Time, error) {
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if t, err := time.Parse(layout, text); err == nil {
			return t.UTC(), nil
		}
	}
	return time.Time{}, usageError{fmt.Errorf("--%s %q: write a time such as 2027-01-01T00:00:00Z, or a date", flag, text)}
}

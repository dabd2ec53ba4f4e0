package top

import (
	"context"
	"fmt"
	"slices"

	"github.com/quorate/quorate/cmd/internal/cluster"
	"github.com/quorate/quorate/cmd/internal/failure"
	"github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/scheduler/commands"
)

// A question asks whether to do a command, and before that for its reason if it needs one.
type question struct {
	command     commands.Command
	why         string // what is known, such as who paused the job
	needsReason bool   // keys change the reason
}

// text is the question in words. It says exactly what will be done.
func (q question) text() string {
	verb := map[commands.Kind]string{commands.Trigger: "Trigger", commands.Pause: "Pause", commands.Resume: "Resume"}[q.command.Kind]
	if q.needsReason {
		return fmt.Sprintf("%s %s. Reason: %s█  Enter continues, Esc cancels", verb, q.command.Job, q.command.Reason)
	}
	text := verb + " " + q.command.Job
	if q.command.Kind == commands.Trigger {
		text += " now"
	}
	if q.command.Reason != "" {
		text += fmt.Sprintf(", reason %q", q.command.Reason)
	}
	if q.command.Kind == commands.Pause {
		text += ", skipping its ticks until it is resumed"
	}
	return view.Join(" ", text+"?", q.why, "y/n")
}

// act asks whether to trigger, pause or resume a job. Whether a job is paused is read first.
func (s state) act(k key, about subject) (state, request) {
	if about.kind != aJob {
		s.notice = notice{"Select a job to trigger or pause it.", warn}
		return s, request{}
	}
	if k == 'p' {
		s.pausing = about.name
		s.notice = notice{"Reading the pauses of " + about.name + " …", faint}
		return s, request{read: about.name}
	}
	s.question = &question{command: commands.Command{Kind: commands.Trigger, Job: about.name}, needsReason: s.needsReason}
	return s, request{}
}

// answer handles a key while there is a question. Only y means yes.
func (s state) answer(k key) (state, request) {
	q := *s.question
	s.question = &q
	switch {
	case k == keyEscape:
		s.question = nil
	case q.needsReason && k == keyEnter:
		q.needsReason = q.command.Reason == ""
	case q.needsReason:
		q.command.Reason = edited(q.command.Reason, k)
	case k == 'y', k == 'Y':
		s.question = nil
		return s, request{command: &q.command}
	case k == 'n', k == 'N', k == 'q', k == 'Q':
		s.question = nil
	}
	return s, request{}
}

// arrived takes in the details of a job that were requested.
func (s state) arrived(d *jobDetail) state {
	if s.openJob() == d.job {
		p := *s.page
		p.job = d
		s.page = &p
	}
	if s.pausing != d.job {
		return s
	}
	s.pausing, s.notice = "", notice{}
	switch own, all := d.ownPause(), d.paused(); {
	case d.err != nil:
		s.notice = notice{d.job + ": " + failure.Lines(d.err)[0], bad}
	case own != nil:
		why := view.Join(": ", fmt.Sprintf("It was paused by %s at %s", view.Text(own.By), own.At), view.Text(own.Reason)) + "."
		s.question = &question{commands.Command{Kind: commands.Resume, Job: d.job}, why, s.needsReason}
	case all != "":
		s.notice = notice{d.job + ": " + all + ". Only quorate resume or the configuration ends this, for all jobs that it covers.", warn}
	default:
		s.question = &question{command: commands.Command{Kind: commands.Pause, Job: d.job}, needsReason: true}
	}
	return s
}

// ownPause is the pause of the job itself; nil: there is none.
func (d jobDetail) ownPause() *view.Command {
	i := slices.IndexFunc(d.pauses, func(p view.Command) bool {
		return p.Job != nil && (*p.Job == d.job || len(d.versions) > 0 && *p.Job == d.versions[0].Key)
	})
	if i < 0 {
		return nil
	}
	return &d.pauses[i]
}

// paused says why the ticks of the job are skipped; empty: they are not.
func (d jobDetail) paused() string {
	for _, v := range d.versions {
		if v.Paused != nil {
			return *v.Paused
		}
	}
	return ""
}

// A result is what became of a command.
type result struct {
	notice
	err error
}

// do gives the command to the cluster, which records it in the audit log as it does those
// of quorate trigger, pause and resume.
func do(ctx context.Context, c cluster.Cluster, command commands.Command) (r result) {
	r.err = guarded(func() error {
		if command.Kind == commands.Trigger {
			requested, err := c.Trigger(ctx, command)
			r.notice = notice{cluster.Requested(requested, command.Job), good}
			return err
		}
		done, err := c.PauseOrResume(ctx, command, "")
		r.notice = notice{cluster.Switched(done), good}
		if done.Doubt != nil {
			r.notice = notice{r.text + "; " + *done.Doubt, warn}
		}
		return err
	})
	if r.err != nil {
		r.notice = notice{fmt.Sprintf("%s of %s: %s", command.Kind, command.Job, failure.Lines(r.err)[0]), bad}
	}
	return r
}

// bottom is the text below the frame: a question, the search while it is typed, or a notice.
func (v layout) bottom() []textLine {
	switch {
	case v.question != nil:
		return paragraph(v.question.text(), v.width, warn)
	case v.searching:
		return []textLine{{{"/" + v.search + "█", warn}, {"  Enter keeps it, Esc clears it", faint}}}
	case v.notice.text != "":
		return paragraph(v.notice.text, v.width, v.notice.look)
	}
	return nil
}

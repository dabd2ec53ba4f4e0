package pages

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/quorate/quorate/internal/listing"
	"github.com/quorate/quorate/scheduler"
)

// A driftLine describes the differences between the served versions of a job.
type driftLine struct {
	Job, Text string
	Since     time.Time // the newest is served; zero: unknown
}

// driftLines compares the served versions of each job.
func driftLines(versions []scheduler.Version, replicas []listing.Replica) []driftLine {
	of, order := map[string][]scheduler.Version{}, []string{}
	for _, v := range versions {
		if !v.Drift {
			continue
		}
		if of[v.StoredAs()] == nil {
			order = append(order, v.StoredAs())
		}
		of[v.StoredAs()] = append(of[v.StoredAs()], v)
	}
	var lines []driftLine
	for _, key := range order {
		lines = append(lines, driftOf(of[key], replicas))
	}
	return lines
}

// driftOf starts with the newest version, which a rollout brings.
func driftOf(versions []scheduler.Version, replicas []listing.Replica) driftLine {
	versions = slices.Clone(versions)
	slices.SortStableFunc(versions, func(x, y scheduler.Version) int { return y.Since.Compare(x.Since) })
	line := driftLine{Job: versions[0].Name, Since: versions[0].Since}
	var parts []string
	for i, v := range versions {
		who := listing.And(servers(v, replicas))
		if i == len(versions)-1 && i > 0 {
			who = "the others"
		}
		parts = append(parts, who+" "+aspects(v, versions))
	}
	line.Text = strings.Join(parts, "; ")
	return line
}

// servers are the replicas that serve the version.
func servers(v scheduler.Version, replicas []listing.Replica) []string {
	var list []string
	for _, r := range replicas {
		if listing.Text(r.ConfigHash) == v.ConfigHash {
			list = append(list, r.ID)
		}
	}
	if len(list) == 0 {
		return []string{"a replica"}
	}
	return list
}

// aspects lists the settings of a version that differ from the others.
func aspects(v scheduler.Version, versions []scheduler.Version) string {
	var list []string
	for _, a := range []struct {
		name string
		of   func(scheduler.Version) string
	}{
		{"as", func(v scheduler.Version) string { return v.Name }},
		{"on schedule", func(v scheduler.Version) string { return v.Schedule }},
		{"in zone", func(v scheduler.Version) string { return v.Timezone }},
		{"with function", func(v scheduler.Version) string { return v.Func }},
		{"with jitter", func(v scheduler.Version) string { return v.Jitter.String() }},
		{"with tags", func(v scheduler.Version) string { return cmp.Or(strings.Join(v.Tags, ", "), "none") }},
		{"paused:", func(v scheduler.Version) string { return fmt.Sprint(v.Paused) }},
	} {
		if slices.ContainsFunc(versions, func(o scheduler.Version) bool { return a.of(o) != a.of(v) }) {
			list = append(list, a.name+" "+a.of(v))
		}
	}
	if len(list) == 0 {
		return "version " + v.Hash + ", with other params, policies or description"
	}
	return strings.Join(list, ", ")
}

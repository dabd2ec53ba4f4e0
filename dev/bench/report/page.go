package report

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/quorate/quorate/dev/bench/plot"
)

// errNoMarkers: a page has no place for what was measured.
var errNoMarkers = errors.New("the markers are missing")

// Page is where the figures are written to.
const Page = "docs/performance.md"

// Write writes what was measured into the repository at root: the page between
// its markers, and the pictures.
func Write(root string, m Machine, sections []Section) error {
	var all []Result
	var details strings.Builder
	for _, s := range sections {
		all = append(all, s.Results...)
		details.WriteString(s.markdown())
		if err := draw(root, s.Charts...); err != nil {
			return err
		}
	}
	page := filepath.Join(root, filepath.FromSlash(Page))
	return errors.Join(
		Between(page, "machine", m.Markdown()),
		Between(page, "table", Markdown(all)),
		Between(page, "summary", headline(all)),
		Between(page, "details", details.String()))
}

// WriteProfiles writes the profiles into the page, beside those of another name.
func WriteProfiles(root, name string, m Machine, list []Profile) error {
	var charts []plot.Chart
	var text strings.Builder
	text.WriteString(Profiles(m, list))
	for i, p := range list {
		c := p.Chart(fmt.Sprintf("profile-%s-%d", name, i+1))
		charts = append(charts, c)
		text.WriteString(picture(c))
	}
	if err := draw(root, charts...); err != nil {
		return err
	}
	return Between(filepath.Join(root, filepath.FromSlash(Page)), "profile-"+name, text.String())
}

// Profiles returns the profiles as tables.
func Profiles(m Machine, list []Profile) string {
	var text strings.Builder
	text.WriteString("Commit " + m.Commit + ", " + m.Date + ".\n\n")
	for _, p := range list {
		text.WriteString(p.Markdown())
	}
	return text.String()
}

// draw writes the pictures into the repository.
func draw(root string, charts ...plot.Chart) error {
	dir := filepath.Join(root, "docs", "performance")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, c := range charts {
		if err := os.WriteFile(filepath.Join(dir, c.File+".svg"), []byte(c.SVG()), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// picture shows a chart in a page.
func picture(c plot.Chart) string {
	return fmt.Sprintf("![%s](performance/%s.svg)\n\n", c.Title, c.File)
}

// Between replaces what stands between the comments "bench:name" and
// "/bench:name" of the file.
func Between(file, name, text string) error {
	before, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	open, end := "<!-- bench:"+name+" -->\n", "<!-- /bench:"+name+" -->"
	head, rest, found := strings.Cut(string(before), open)
	_, tail, closed := strings.Cut(rest, end)
	if !found || !closed {
		return fmt.Errorf("%s: %w: write %s and %s", file, errNoMarkers, strings.TrimSpace(open), end)
	}
	return os.WriteFile(file, []byte(head+open+text+end+tail), 0o644)
}

// markdown tells one measurement.
func (s Section) markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "### %s\n\n%s\n\n", s.Title, s.Method)
	for _, c := range s.Charts {
		b.WriteString(picture(c))
	}
	notes := 0
	for _, r := range s.Results {
		for _, note := range r.Notes {
			fmt.Fprintf(&b, "* %s: %s\n", r.What, note)
			notes++
		}
	}
	if notes > 0 {
		b.WriteString("\n")
	}
	return b.String()
}

// headline is the summary: the results that compare with others.
func headline(all []Result) string {
	var parts []string
	for _, r := range all {
		if r.Headline != "" {
			parts = append(parts, "* "+strings.NewReplacer("{ours}", r.Unit.Format(r.Ours), "{theirs}", r.Unit.Format(r.Theirs),
				"{times}", fmt.Sprintf("%.1f", r.Ratio.Of),
				"{inverse}", fmt.Sprintf("%.1f", 1/r.Ratio.Of)).Replace(r.Headline))
		}
	}
	return strings.Join(parts, "\n") + "\n"
}

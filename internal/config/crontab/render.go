package crontab

import (
	"bytes"
	"strings"

	"go.yaml.in/yaml/v3"
)

// head is the part of the configuration that a crontab says nothing about.
const head = `# Imported from a crontab: docs/coming-from/crontab.md says what differs from cron.
namespace: quorate
redis:      # your store: docs/stores.md
  nodes: [redis://127.0.0.1:7101, redis://127.0.0.1:7102, redis://127.0.0.1:7103]
scheduler:
  timezone: `

const defaults = `
defaults:
  overlap: allow    # as cron does; skip waits for the earlier run
  timeout: 24h      # cron has none
`

// render writes the configuration.
func render(r *reader) ([]byte, error) {
	jobs := &yaml.Node{Kind: yaml.MappingNode}
	for _, j := range r.jobs {
		var value yaml.Node
		if err := value.Encode(j); err != nil {
			return nil, err
		}
		key := &yaml.Node{Kind: yaml.ScalarNode, Value: j.Name, Tag: "!!str", HeadComment: comment(j.Comments)}
		jobs.Content = append(jobs.Content, key, &value)
	}
	jobs.FootComment = comment(r.loose)
	var out bytes.Buffer
	out.WriteString(head + r.opts.Timezone + defaults)
	enc := yaml.NewEncoder(&out)
	enc.SetIndent(2)
	err := enc.Encode(map[string]any{"jobs": jobs})
	return out.Bytes(), err
}

// comment writes lines as a YAML comment.
func comment(lines []string) string {
	text := strings.TrimSpace(strings.Join(lines, "\n"))
	if text == "" {
		return ""
	}
	return "# " + strings.ReplaceAll(text, "\n", "\n# ")
}

package tutorial

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// A block is a fenced block of a page.
type block struct {
	language string
	text     string
	// file is what the line before the block names, as in "Save this as `main.go`:".
	file string
	// adds: the text belongs at the end of the file.
	adds bool
	// output is the text block that follows a block of commands.
	output string
	line   int
	// box: it is in a box, and stands for the block before it with another database.
	box bool
}

var (
	fence    = regexp.MustCompile("(?ms)^```([a-z]*)\n(.*?)^```$")
	fileName = regexp.MustCompile("([Ss]ave this as|Add this to the end of) `([^`]+)`[^`]*:\n\n$")
)

// blocksOf returns the blocks of a page.
func blocksOf(t *testing.T, page string) []block {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	return blocksIn(t, page, string(text))
}

// blocksIn returns the blocks in a text. It fails the test if it does not know what to do with
// one.
func blocksIn(t *testing.T, page, text string) (list []block) {
	t.Helper()
	for _, at := range fence.FindAllStringSubmatchIndex(text, -1) {
		found := block{language: text[at[2]:at[3]], text: text[at[4]:at[5]], line: 1 + strings.Count(text[:at[0]], "\n")}
		found.box = strings.Count(text[:at[0]], "<details>") > strings.Count(text[:at[0]], "</details>")
		if m := fileName.FindStringSubmatch(text[:at[0]]); m != nil {
			found.adds, found.file = strings.HasPrefix(m[1], "Add"), m[2]
		}
		last := len(list) - 1
		switch {
		case found.language == "sh" && found.file == "", found.language != "sh" && found.file != "":
			list = append(list, found)
		case found.language == "text" && last >= 0 && list[last].language == "sh" && list[last].output == "":
			list[last].output = found.text
		default:
			t.Fatalf("%s:%d: this block is no commands, no output of commands, and no file", page, found.line)
		}
	}
	return list
}

// chosen are the blocks for those who open the boxes, or for those who do not.
func chosen(blocks []block, boxes bool) (list []block) {
	for _, b := range blocks {
		switch {
		case !b.box:
			list = append(list, b)
		case boxes:
			list[len(list)-1] = b
		}
	}
	return list
}

// varying are the parts of an output that differ from run to run.
var varying = regexp.MustCompile(`vm:\d+|\d+(\.\d+)?(ms|µs|s)?|\b[abc]\b|\s+`)

// outputPattern matches what a user sees if the commands work. Numbers, columns, and the names
// of replicas and of the host may differ, and other lines may come in between. A … stands for what
// was left out.
func outputPattern(output string) *regexp.Regexp {
	var lines []string
	for line := range strings.Lines(output) {
		line = strings.TrimSpace(line)
		if line == "…" || line == "" {
			continue
		}
		var pattern strings.Builder
		end := 0
		for _, at := range varying.FindAllStringIndex(line, -1) {
			pattern.WriteString(regexp.QuoteMeta(line[end:at[0]]) + anyLike(line[at[0]:at[1]]))
			end = at[1]
		}
		lines = append(lines, `[ \t]*`+strings.ReplaceAll(pattern.String()+regexp.QuoteMeta(line[end:]), "…", ".*")+`[ \t]*\n`)
	}
	return regexp.MustCompile(`(?m)^` + strings.Join(lines, `(?:.*\n)*?`))
}

func anyLike(part string) string {
	switch {
	case strings.TrimSpace(part) == "":
		return `[ \t]+`
	case strings.HasPrefix(part, "vm"):
		return `[\w.-]+:\d+`
	case part[0] >= 'a':
		return `[abc]`
	default:
		return `[\d.]+(?:ms|µs|s)?`
	}
}

package reference

import (
	"embed"
	"regexp"
	"strings"
	"text/template"
)

//go:embed pages/*.md
var pages embed.FS

// write fills a page of the folder pages.
func write(page string, data any) (string, error) {
	t, err := template.New(page).Funcs(template.FuncMap{"text": text, "cell": cell, "paragraphs": paragraphs}).ParseFS(pages, "pages/"+page)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	err = t.Execute(&b, data)
	return b.String(), err
}

// code matches what reads better as code: references, variables, URLs, commands, keys with a dot or
// a dash below, flags, users, paths, specs.
var code = regexp.MustCompile(`\$\{[^}]+\}|\$[A-Z_]+|\b[A-Z]+(?:_[A-Z]+)+|\w+://(?:[^\s,;]*[^\s,;.])?|quorate\s(?:(?:users|store)\s)?[a-z]+(?:\s--[a-z-]+)*|(?:[a-z]+_)+[a-z]+(?:\.[a-z_]*[a-z])*|\b[a-z]+(?:\.[a-z_]*[a-z])+(?:/\d)?|--[a-z-]+(?:=[a-z]+)?|\w*@\w+(?: \d+s| \d{4}-\S+Z)?|\*?-?[\d*]+-\d\d-\d\d(?:\.\.[\d*-]+)?|(?:^|[\s(])\.?/[\w./-]*\w`)

// values is a list of values, each of one word, which is all of a text or its end.
var values = regexp.MustCompile(`(?:^|: )([a-z_]+(?:, [a-z_]+(?: awaited)?)+(?: or [a-z]+\.)?|[a-z]+(?:, [a-z]+)* or [a-z]+\.)$`)

// text escapes what Markdown would read as more than text, and marks code.
func text(s string) string {
	escape := strings.NewReplacer(`\`, `\\`, "*", `\*`, "_", `\_`, "<", "&lt;", "[", `\[`)
	if at := values.FindStringSubmatchIndex(s); at != nil {
		return text(s[:at[2]]) + regexp.MustCompile(`\w+(?: awaited)?`).ReplaceAllStringFunc(s[at[2]:], func(w string) string {
			return strings.Replace("`"+w+"`", "`or`", "or", 1)
		})
	}
	var b strings.Builder
	end := 0
	for _, at := range code.FindAllStringIndex(s, -1) {
		word := strings.TrimLeft(s[at[0]:at[1]], " \n(")
		b.WriteString(escape.Replace(s[end:at[1]-len(word)]) + "`" + word + "`")
		end = at[1]
	}
	return b.String() + escape.Replace(s[end:])
}

// cell is a text in a table.
func cell(s string) string {
	return strings.ReplaceAll(text(strings.ReplaceAll(s, "\n", " ")), "|", `\|`)
}

var (
	indented = regexp.MustCompile(`(?m)(?:^(?:  |\t).*\n?)+`)
	indent   = regexp.MustCompile(`(?m)^(?:  |\t)`)
)

// paragraphs returns the text of a command's help. Lines that it indents are a block.
func paragraphs(s string) string {
	var b strings.Builder
	end := 0
	for _, at := range indented.FindAllStringIndex(s, -1) {
		b.WriteString(strings.TrimRight(text(s[end:at[0]]), "\n") + "\n\n```text\n" + block(s[at[0]:at[1]]) + "\n```\n")
		end = at[1]
	}
	return strings.TrimSpace(b.String() + text(s[end:]))
}

// block removes the indent of each line.
func block(s string) string {
	return strings.TrimSpace(indent.ReplaceAllString(s, ""))
}

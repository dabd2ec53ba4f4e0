package refs

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestExpand(t *testing.T) {
	t.Parallel()
	const same = "(same)"
	tests := map[string]string{
		"": same, "text": same, "$": same, "${": same, "$$": same,
		"${env:X}": "<env X>", "a ${env:X_1.y-z} b ${file:/run/a:b c}": "a <env X_1.y-z> b <file /run/a:b c>", "${file:relative}": "<file relative>", "${file: /x}": "<file  /x>",
		"${plain:env:X}${plain:file:/x}": "<plain env X><plain file /x>", "${env:X}}": "<env X>}", "{${env:X}": "{<env X>",

		// What others write.
		"${env}": same, "${file}": same, "${VAR}": same, "${ENV:X}": same, "${env :X}": same, "$env:X": same, "${plain}": same, "${plain:-x}": same, "${plain:X}": same, "${#env}": same,
		"${env:-x}": same, "${env:+x}": same, "${env:=x}": same, "${env:?no env}": same, "${env:0:3}": same, "${env: -3}": same, "${env:  1:2}": same, "${file: (-3)}": same, "${env:(-3)}": same,
		"${file:-/x}": same, "${file:?}": same, "${file:1}": same, "${env:-${file:/x}}": "${env:-<file /x>}",
		"${env:X": same, "${file:/x": same, "${env:": same, "$${env:X": "${env:X", "${env:-${x}}": same,

		// Escapes.
		"$${env:X}": "${env:X}", "$${file:/x}": "${file:/x}", "$${plain:env:X}": "${plain:env:X}", "$$${env:X}": "$${env:X}", "$${env:-x}": "${env:-x}", "$${env:}": "${env:}",
		"$${VAR}": same, "$${env}": same, "$${env:X} ${env:X} $${env:X}": "${env:X} <env X> ${env:X}", "$${env:${env:X}}": "${env:<env X>}",

		// Mistakes.
		"${env:}": "", "${file:}": "", "${env:A:-b}": "", "${env:A B}": "", "${env: A}": "", "${env:\tA}": "", "${env:${env:A}}": "", "${file:/run/${env:A}}": "", "${file:/run/$A}": "", "${plain:env:}": "", "ok ${env:X} ${env:ü}": "",
	}
	for text, want := range tests {
		if want == same {
			want = text
		}
		if back, _, err := Expand(Escape(text), nil); err != nil || back != text {
			t.Errorf("%s is escaped as %s, which is %q, %v", text, Escape(text), back, err)
		}
		got, secrets, err := Expand(text, func(ref string) (string, error) {
			return strings.NewReplacer("${", "<", "}", ">", "env:", "env ", "file:", "file ", "plain:", "plain ").Replace(ref), nil
		})
		switch {
		case want == "" && text != "":
			if err == nil || !strings.Contains(err.Error(), "is no reference") || In(text) != nil {
				t.Errorf("%s became %q, %v", text, got, err)
			}
		case err != nil || got != want:
			t.Errorf("%s became %q, %v; want %q", text, got, err, want)
		case len(secrets) != strings.Count(got, "<env")+strings.Count(got, "<file"):
			t.Errorf("%s has the secrets %q", text, secrets)
		case len(In(text)) != strings.Count(got, "<"):
			t.Errorf("%s has the references %v", text, In(text))
		}
	}
}

// What a reference stands for is a variable, or a file less its last line break. What is missing is
// named.
func TestValue(t *testing.T) {
	t.Setenv("T_EMPTY", "")
	file := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(file, []byte("one\ntwo\r\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{"[${env:T_EMPTY}]": "[]", "${file:" + file + "}": "one\ntwo"} {
		if got, _, err := Expand(text, value); err != nil || got != want {
			t.Errorf("%s is %q, %v, want %q", text, got, err, want)
		}
	}
	for _, text := range []string{"${env:T_MISSING}", "${file:" + file + ".missing}"} {
		if got, _, err := Expand("x "+text, value); got != "" || err == nil || !strings.Contains(err.Error(), text+": ") {
			t.Errorf("%s is %q, %v", text, got, err)
		}
	}
}

func value(reference string) (string, error) { return In(reference)[0].Value() }

// The text that a mistake says to write is that text.
func TestAdviceIsTrue(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"${env:}", "${env:A:-b}", "${file:}"} {
		_, err := Split(text)
		_, advice, _ := strings.Cut(fmt.Sprint(err), "or $$")
		advice, _, _ = strings.Cut("$$"+advice, " for that text")
		if parts, err := Split(advice); err != nil || len(parts) != 1 || parts[0].Text != text {
			t.Errorf("%s: the advice %q is %v, %v", text, advice, parts, err)
		}
	}
}

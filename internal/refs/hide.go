package refs

import (
	"fmt"
	"net/url"
	"regexp"
	"strconv"
	"strings"
)

// stars stand where a secret is.
const stars = "***"

// urlWithSecret matches what is written as a URL with a user or a query.
var urlWithSecret = regexp.MustCompile(`(?s)^\s*\S+://.*[@?]`)

// Hide returns the text as people may see it. A URL loses its password and its query. Of a text that
// may be secret only the references remain, and of a URL also its scheme, its host and a user who has a
// password. References stay, since they say only where a secret is.
func Hide(text string, secret bool) string {
	marked := mark(text)
	u, err := url.Parse(marked.text)
	switch {
	case err == nil && u.Host != "" && u.Scheme != "":
		return marked.redacted(u, secret)
	case secret, err != nil && urlWithSecret.MatchString(marked.text):
		return marked.hidden(marked.text)
	}
	return text
}

// SecretRefs returns the references in a text that may stand for secrets. It leaves out plain ones,
// and those in the host of a URL or in the name of a user who has a password.
func SecretRefs(text string) []Part {
	marked := mark(text)
	public := ""
	if u, err := url.Parse(marked.text); err == nil && u.Host != "" {
		public = u.Host
		if _, has := u.User.Password(); has {
			public += " " + u.User.Username()
		}
	}
	var secret []Part
	for i, ref := range marked.refs {
		if !ref.Plain && !strings.Contains(public, marked.number(i)) {
			secret = append(secret, ref)
		}
	}
	return secret
}

// marked is a text with a number in place of each reference, so that it can be
// parsed as a URL: digits fit everywhere, also where a port is.
type marked struct {
	text   string
	prefix string // that the numbers begin with, and nothing else in the text
	refs   []Part // by number
}

// markDigits is how many digits of a number follow the prefix.
const markDigits = 6

// escapedDigit is a percent-encoded digit, which becomes a digit when the URL is parsed.
var escapedDigit = regexp.MustCompile(`%3([0-9])`)

// mark puts a number in place of each reference. The numbers begin with digits that are nowhere else
// in the text, also after a URL was decoded. A text with a malformed reference stays as it is.
func mark(text string) marked {
	m := marked{prefix: "59"}
	for plain := escapedDigit.ReplaceAllString(text, "$1"); strings.Contains(plain, m.prefix); {
		m.prefix += "0"
	}
	parts, err := Split(text)
	if err != nil {
		m.text = text
	}
	for _, p := range parts {
		if p.Kind == "" {
			m.text += p.Text
			continue
		}
		m.refs = append(m.refs, p)
		m.text += m.number(len(m.refs) - 1)
	}
	return m
}

func (m marked) number(i int) string { return fmt.Sprintf("%s%0*d", m.prefix, markDigits, i) }

// shown is a part of the text as it was before its references were marked.
func (m marked) shown(part string) string { return m.fill(part, false) }

// hidden is the references in a part of the text, and stars for all else.
func (m marked) hidden(part string) string { return m.fill(part, true) }

// fill puts the references back into a part of the text. With hide it replaces all else but blanks by
// stars.
func (m marked) fill(part string, hide bool) string {
	var text strings.Builder
	for {
		literal, rest, found := strings.Cut(part, m.prefix)
		if hide && strings.TrimSpace(literal) != "" {
			literal = stars
		}
		text.WriteString(literal)
		if !found {
			return text.String()
		}
		i, _ := strconv.Atoi(rest[:markDigits])
		text.WriteString(m.refs[i].Text)
		part = rest[markDigits:]
	}
}

// redacted returns the parsed URL with its password and its query hidden. If it may be secret, its
// path is hidden too, and so is a user without a password.
func (m marked) redacted(u *url.URL, secret bool) string {
	text := u.Scheme + "://"
	if u.User != nil {
		password, has := u.User.Password()
		text += m.fill(u.User.Username(), secret && !has) // without a password it may be a token
		if has {
			text += ":" + m.hidden(password)
		}
		text += "@"
	}
	text += m.shown(u.Host)
	if path, below := strings.CutPrefix(u.EscapedPath(), "/"); secret && below {
		text += "/" + m.hidden(strings.Trim(path, "/"))
	} else {
		text += m.shown(u.EscapedPath())
	}
	if u.RawQuery != "" {
		text += "?" + m.hidden(u.RawQuery)
	}
	return text
}

package top

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// An event is a key or a signal.
type event struct {
	kind eventKind
	key  key // of eventKey
}

type eventKind int

const (
	eventResize eventKind = iota // draw again
	eventKey
	eventQuit
	eventStop
	eventContinue
)

// A key is a character, or a key without one.
type key rune

// Keys that terminals send as control characters, and those they send as a sequence.
const (
	keyCtrlC     key = 3
	keyCtrlD     key = 4
	keyTab       key = '\t'
	keyCtrlL     key = 12
	keyEnter     key = '\r'
	keyCtrlU     key = 21
	keyCtrlZ     key = 26
	keyEscape    key = '\x1b'
	keyBackspace key = 127

	keyUnknown key = -iota
	keyUp
	keyDown
	keyPageUp
	keyPageDown
	keyHome
	keyEnd
	keyBackTab
)

// keysOf returns the keys that were read, and the start of a key whose rest is not read
// yet.
func keysOf(read []byte) (keys []key, rest []byte) {
	for len(read) > 0 {
		k, n := firstKey(read)
		if n == 0 {
			return keys, read
		}
		if k != keyUnknown {
			keys = append(keys, k)
		}
		read = read[n:]
	}
	return keys, nil
}

// firstKey returns the first key and its length; 0 if its rest is not read yet.
func firstKey(read []byte) (key, int) {
	if read[0] == byte(keyEscape) {
		n := sequence(read)
		if n == 0 {
			return keyUnknown, 0
		}
		return sequenceKey(string(read[1:n])), n
	}
	if !utf8.FullRune(read) {
		return keyUnknown, 0
	}
	switch r, n := utf8.DecodeRune(read); {
	case r == '\n':
		return keyEnter, n
	case r == '\b':
		return keyBackspace, n
	case r == utf8.RuneError && n == 1:
		return keyUnknown, n
	default:
		return key(r), n
	}
}

// sequence is the length of the escape sequence at the start of what was read, such as an
// arrow's; 0 if its rest is not read yet.
func sequence(read []byte) int {
	switch {
	case len(read) == 1:
		return 0
	case read[1] == 'O': // an arrow in application mode
		return min(len(read)/3*3, 3)
	case read[1] != '[': // a key with Alt
		return 2
	}
	for i, b := range read[2:] {
		if b >= '@' {
			return i + 3
		}
	}
	return 0
}

// sequenceKey is the key of a sequence without its escape character.
func sequenceKey(text string) key {
	switch text {
	case "[A", "OA":
		return keyUp
	case "[B", "OB":
		return keyDown
	case "[5~":
		return keyPageUp
	case "[6~":
		return keyPageDown
	case "[H", "OH", "[1~", "[7~":
		return keyHome
	case "[F", "OF", "[4~", "[8~":
		return keyEnd
	case "[Z":
		return keyBackTab
	}
	return keyUnknown
}

// mostTyped bounds a text that the user types, in characters.
const mostTyped = 200

// edited returns the text after a key was typed at its end.
func edited(text string, k key) string {
	switch {
	case k == keyBackspace && text != "":
		_, n := utf8.DecodeLastRuneInString(text)
		return text[:len(text)-n]
	case k == keyCtrlU:
		return ""
	case k > 0 && unicode.IsPrint(rune(k)) && utf8.RuneCountInString(text) < mostTyped:
		return strings.TrimLeft(text+string(rune(k)), " ")
	}
	return text
}

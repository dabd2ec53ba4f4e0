package top

// An event is a request by a key or a signal.
type event int

const (
	eventResize event = iota // draw again
	eventQuit
	eventHelp
	eventRefresh
	eventStop
	eventContinue
)

// eventsOf returns the events of keys that were read at once; no keys: the terminal is
// gone.
func eventsOf(keys []byte) []event {
	if len(keys) == 0 {
		return []event{eventQuit}
	}
	var events []event
	for len(keys) > 0 {
		if n := sequence(keys); n > 0 {
			keys = keys[n:]
			continue
		}
		if e, known := eventOf(keys[0]); known {
			events = append(events, e)
		}
		keys = keys[1:]
	}
	return events
}

// sequence is the length of the escape sequence at the start of keys, such as an arrow's;
// 0 if there is none.
func sequence(keys []byte) int {
	if keys[0] != '\x1b' || len(keys) == 1 {
		return 0
	}
	if keys[1] != '[' {
		return 2
	}
	for i, b := range keys[2:] {
		if b >= '@' {
			return i + 3
		}
	}
	return len(keys)
}

func eventOf(key byte) (event, bool) {
	const ctrlC, ctrlD, ctrlL, ctrlZ = 3, 4, 12, 26
	switch key {
	case 'q', 'Q', ctrlC, ctrlD:
		return eventQuit, true
	case '?', 'h':
		return eventHelp, true
	case ' ', 'r':
		return eventRefresh, true
	case ctrlZ:
		return eventStop, true
	case ctrlL:
		return eventResize, true
	}
	return 0, false
}

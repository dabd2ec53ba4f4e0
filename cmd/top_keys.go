package cmd

// An event is what a key or a signal asks for.
type event int

const (
	eventResize event = iota // draw again
	eventQuit
	eventHelp
	eventLook
	eventStop
	eventContinue
)

// eventsOf returns what keys that came at once ask for; no keys: the terminal has
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

// sequence is how long the sequence of a key such as an arrow is that keys begin
// with; 0 if there is none.
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
		return eventLook, true
	case ctrlZ:
		return eventStop, true
	case ctrlL:
		return eventResize, true
	}
	return 0, false
}

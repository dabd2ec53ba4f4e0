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

// eventOf returns what keys that came at once ask for; no keys: the terminal has
// gone. False: nothing.
func eventOf(keys []byte) (event, bool) {
	const ctrlC, ctrlD, ctrlL, ctrlZ = 3, 4, 12, 26
	if len(keys) == 0 {
		return eventQuit, true
	}
	switch keys[0] {
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
	return 0, false // escape sequences, too
}

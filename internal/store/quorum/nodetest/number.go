package nodetest

import (
	"errors"
	"fmt"
	"strconv"
)

// ErrScript is the server's error for a script that failed. Its earlier writes stay.
var ErrScript = errors.New("ERR the script failed")

func scriptError(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrScript, fmt.Sprintf(format, args...))
}

// number parses a number as Lua does, as far as clients write them.
func number(text string) (float64, bool) {
	n, err := strconv.ParseFloat(text, 64)
	return n, err == nil || errors.Is(err, strconv.ErrRange)
}

// numbers parses texts that must all be numbers.
func numbers(texts ...string) ([]float64, error) {
	list := make([]float64, len(texts))
	for i, text := range texts {
		n, ok := number(text)
		if !ok {
			return nil, scriptError("%q is not a number", text)
		}
		list[i] = n
	}
	return list, nil
}

// digits formats a number with all its digits.
func digits(n float64) string { return strconv.FormatFloat(n, 'f', 0, 64) }

// integer formats an integer.
func integer[N int | int64 | uint64](n N) string { return fmt.Sprint(n) }

// A reader parses integers, and keeps the first error.
type reader struct{ err error }

func (r *reader) integer(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil && r.err == nil {
		r.err = scriptError("%q is not an integer", text)
	}
	return n
}

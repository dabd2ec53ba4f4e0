package nodetest

import (
	"errors"
	"fmt"
	"strconv"
)

// ErrScript is what a script that failed answers: an error of the server, after
// which what it wrote before stays written.
var ErrScript = errors.New("ERR the script failed")

func scriptError(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrScript, fmt.Sprintf(format, args...))
}

// number reads a number as Lua does, as far as clients write them.
func number(text string) (float64, bool) {
	n, err := strconv.ParseFloat(text, 64)
	return n, err == nil || errors.Is(err, strconv.ErrRange)
}

// numbers reads texts that must all be numbers.
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

// integer reads a number as Redis reads the arguments of its commands.
func integer(text string) (int64, bool) {
	n, err := strconv.ParseInt(text, 10, 64)
	return n, err == nil
}

// digits writes a number with all its digits.
func digits(n float64) string { return strconv.FormatFloat(n, 'f', 0, 64) }

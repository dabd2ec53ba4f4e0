package redisledger

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/quorate/quorate/scheduler"
)

// encodeAccount writes an account as publish.lua wants it.
func encodeAccount(a scheduler.Account) string {
	var list []string
	for _, t := range []time.Time{a.First, a.Until, a.Stopped, a.Removed} {
		ms := int64(0)
		if !t.IsZero() {
			ms = max(0, t.UnixMilli())
		}
		list = append(list, strconv.FormatInt(ms, 10))
	}
	return strings.Join(list, ",")
}

// decodeAccount reads what encodeAccount wrote.
func decodeAccount(text string) (scheduler.Account, error) {
	var a scheduler.Account
	words := strings.Split(text, ",")
	into := []*time.Time{&a.First, &a.Until, &a.Stopped, &a.Removed}
	if len(words) != len(into) {
		return a, fmt.Errorf("%q is no account of a job", text)
	}
	for i, word := range words {
		ms, err := strconv.ParseInt(word, 10, 64)
		if err != nil {
			return a, fmt.Errorf("%q is no account of a job: %w", text, err)
		}
		if ms > 0 {
			*into[i] = time.UnixMilli(ms).UTC()
		}
	}
	return a, nil
}

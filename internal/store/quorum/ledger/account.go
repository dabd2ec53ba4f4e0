package ledger

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/quorate/quorate/scheduler"
)

// encodeAccount returns an account as publish.lua expects it.
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

// decodeAccount is the inverse of encodeAccount.
func decodeAccount(text string) (scheduler.Account, error) {
	var a scheduler.Account
	words := strings.Split(text, ",")
	into := []*time.Time{&a.First, &a.Until, &a.Stopped, &a.Removed}
	if len(words) != len(into) {
		return a, fmt.Errorf("invalid account of a job %q", text)
	}
	for i, word := range words {
		ms, err := strconv.ParseInt(word, 10, 64)
		if err != nil {
			return a, fmt.Errorf("invalid account of a job %q: %w", text, err)
		}
		if ms > 0 {
			*into[i] = time.UnixMilli(ms).UTC()
		}
	}
	return a, nil
}

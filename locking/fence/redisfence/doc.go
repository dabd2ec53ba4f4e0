// Package redisfence is the guard of a Redis: check and write are one script.
// The Redis is yours, where your data is; it has nothing to do with the nodes
// that vote.
//
//	guard := redisfence.Guard{Client: client}
//	err := guard.Set(ctx, run, "report:latest", text, 0)
//
// What Set and Del do not cover, a [Script] does: Lua of your own that runs
// behind the check.
//
//	var debit = redisfence.NewScript(`return redis.call('HINCRBY', KEYS[1], 'balance', -tonumber(ARGV[1]))`)
//
//	left, err := debit.Run(ctx, guard, run, []string{"account:7"}, 100)
//
// # What is kept
//
// One key per resource, fence:{RESOURCE}, holds the largest token seen, without
// expiry: a guard that forgets lets everybody in. In a Redis Cluster all keys of
// a script must be in one slot, so the keys you write to need the same hash tag:
// {RESOURCE}:total, say. Guard.Key names it otherwise.
//
// # What is one step and what is not
//
// The check and the write are, since scripts run one at a time. What the guard
// has seen is as durable as the data beside it: a failover to a replica that
// lags, or a restart without persistence, takes both back, and a stale writer
// may then be admitted until the next holder has written again. A script of
// yours that fails halfway keeps what it has written; the token counts as seen.
// A client that repeats a command after a lost reply (go-redis does, MaxRetries)
// may run it twice; a late repetition is checked like any other write.
package redisfence

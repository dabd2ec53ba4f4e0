// Package redisfence guards data in your Redis: check and write are one script. This
// Redis is independent of the nodes that vote.
//
//	guard := redisfence.Guard{Client: client}
//	err := guard.Set(ctx, run, "report:latest", text, 0)
//
// For other writes than Set and Del, use a [Script]: your Lua runs after the check.
//
//	var debit = redisfence.NewScript(`return redis.call('HINCRBY', KEYS[1], 'balance', -tonumber(ARGV[1]))`)
//
//	left, err := debit.Run(ctx, guard, run, []string{"account:7"}, 100)
//
// # What is stored
//
// One key per resource, fence:{RESOURCE}, holds the largest token seen. It has no
// expiry, since a guard that forgets admits stale writers. Guard.Key can name it
// otherwise. In a Redis Cluster all keys of a script must be in one slot, so the keys
// you write to need the same hash tag, for example {RESOURCE}:total.
//
// # What is one step and what is not
//
// Check and write are one step, since scripts run one at a time. The token is as
// durable as the data beside it. A failover to a lagging replica, or a restart without
// persistence, loses both; a stale writer may then be admitted until the next holder
// has written again.
//
// A script that fails halfway keeps what it has written, and its token counts as seen.
// A client that repeats a command after a lost reply, as go-redis does (MaxRetries),
// may run a script twice. A late repetition is checked like any other write.
package redisfence

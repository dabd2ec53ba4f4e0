// Package identity authenticates and authorizes requests: users with roles, passwords and
// tokens, proxies that name users, and limits for failed logins.
//
// Every act needs a role, from any address. The [Role] viewer reads, operator also requests
// acts, admin also takes locks from their holders. Users send a bearer token, or name and
// password; both are stored hashed. A reverse proxy in [Config.Proxy] may name the user in a
// header instead. [Config.Anonymous] says who may read without a user.
//
// Failed logins are counted by address and by user; too many make both wait. Writes from
// pages of other origins are refused. Refused acts are recorded in the cluster's audit log,
// up to a limit, and all of them in the replica's log.
package identity

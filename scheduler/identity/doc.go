// Package identity has the users of the API and the dashboard: their roles, and the stored
// forms of their passwords and tokens.
//
// Every act needs a role, from any address. The [Role] viewer reads, operator also requests
// acts, admin also takes locks from their holders. Users send a bearer token, or name and
// password; both are stored hashed. A reverse proxy may name the user in a header instead
// ([Proxy]). [Anonymous] says who may read without a user.
package identity

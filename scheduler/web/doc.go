// Package web serves what the listings show and what people may ask for over HTTP:
// the REST API under /api/v1, with an OpenAPI 3.1 document made of the same table
// of routes, live events, and the dashboard: pages that ask the same routes, so that
// people see what programs read, and forms that do what those do. A [Server] is an http.Handler: a replica serves it on
// http.listen, and a service may mount it in its own mux under [Config.BasePath].
//
// # Who may do what
//
// Nobody acts without a role, from no address. [Role] viewer reads, operator also
// asks for acts, admin also takes locks away. Users identify themselves by a bearer
// token or by name and password; both are stored hashed. A reverse proxy may name
// the user in a header instead, if it is one of [Config.Proxy]. Who says nothing may
// read as [Config.Anonymous] has it.
//
// Failed logins are counted by address and by user; too many make both wait. Writes
// that a page of another origin makes are refused. Every act is in the audit log of
// the cluster with who asked for it and why, and so is every act that was refused,
// as long as there are not too many of them; the log of the replica has all.
//
// # Pages
//
// Pages are HTML made here, complete without scripts; one small script follows the
// events and reads the page again. What a page shows is in its address: filters,
// range, and the zone of times (tz: utc, local, job or a name such as Europe/Paris).
// While no quorum answers, a page that was shown before shows what it showed last,
// and since when that is; the overview and the nodes say who votes at any time.
// The policy of pages allows no script and no style but those that are served here.
//
// # What it costs
//
// Every answer is one bounded read of the nodes, however long the history is.
// Events are read by one reader for all who listen, and only while somebody does.
package web

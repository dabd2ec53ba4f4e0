// Package gate admits requests: it finds the user of each, by password, token or a proxy
// that names users, and refuses what the user's role does not allow.
//
// Failed logins are counted by address and by user; too many make both wait. Writes from
// pages of other origins are refused. Refused acts are recorded in the cluster's audit log,
// up to a limit, and all of them in the replica's log.
package gate

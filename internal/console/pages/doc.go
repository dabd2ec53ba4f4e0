// Package pages is the dashboard: pages and forms on top of the API's routes.
//
// Pages are server-rendered HTML and complete without scripts; one small script reloads them
// on events. The address has all that a page shows: filters, range and time zone (tz: utc,
// local, job or a name such as Europe/Paris). While no quorum answers, a page shows its last
// data and their age; the overview and the nodes page still say which nodes vote. The content
// security policy allows only scripts and styles of this server.
package pages

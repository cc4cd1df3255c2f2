// Package postgres keeps a ledger in a PostgreSQL database, from version 13 on, for more than one server, or for
// dashboards that read it beside the server.
//
// Any number of processes may use a ledger at the same time. Reports of one cluster are taken one after the other,
// wherever they arrive; those of different clusters at once. To bring the schema to its newest version, the first
// process to start takes a lock, and the others wait.
package postgres

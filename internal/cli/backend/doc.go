// Package backend finds whom a command asks, and asks: a server, or a ledger directly.
//
//	--server, --token-file ─┐          ┌─► client ─► API of a server
//	--ledger               ─┼─► Flags ─┤
//	KALYPSO_SERVER, …      ─┘          └─► observing, reporting, promoting ─► ledger
//
// Either answers with the same values, so that a command need not know which one it was: [Asked] about the fleet, a
// [Registrar] about clusters, [Tokens], and a [Listener] for what people say about environments.
// With a ledger at hand, whoever runs the program may do what an admin may do with a server, and is put on record as well.
// Errors say what to do next: see [Hint].
package backend

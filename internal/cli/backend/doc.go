// Package backend connects commands to what answers them: a server, or a ledger directly.
//
//	--server, --token-file ─┐          ┌─► client ─► API of a server
//	--ledger               ─┼─► Flags ─┤
//	KALYPSO_SERVER, …      ─┘          └─► query, ingest, promote ─► ledger
//
// Both give the same values, so that a command need not know which one it has: [Fleet] answers questions, a [Registrar]
// manages clusters, [Tokens] manages tokens, and a [Controller] takes commands for promotions.
// With a ledger, the local user can do what an admin can do on a server, and is recorded in the audit trail as well.
// [Hint] adds to errors what to do next.
package backend

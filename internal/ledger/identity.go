package ledger

import "context"

// Identified is a ledger that can be told from others.
type Identified interface {
	// Identity returns a text that is random, and the same for as long as the ledger exists. Copies, backups and dumps of a ledger have the
	// same; a new ledger has another one, also if the export of an earlier one was imported into it.
	Identity(ctx context.Context) (string, error)
}

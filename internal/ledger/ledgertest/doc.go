// Package ledgertest has the conformance tests that all adapters of package ledger pass.
package ledgertest

// Package ledgertest states the rules of package ledger as tests, which every adapter passes.
package ledgertest

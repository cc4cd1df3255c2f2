// Package sqlite keeps a ledger in a file, or a few files beside it, with nothing else to install.
//
// One process uses a ledger at a time. One connection writes, and others read what was committed last meanwhile.
// What was reported is there after the process died; after the machine lost power the very last reports may be missing,
// and are reported again. For several processes, or machines, there is package postgres.
package sqlite

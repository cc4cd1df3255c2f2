// Package sqlite stores a ledger in a file, with nothing else to install.
//
// Only one process may use a ledger. One connection writes, and others read the last commit meanwhile.
// Stored reports survive a crash of the process. After a power failure the last ones may be missing; agents send them again.
// For several processes or machines, use package postgres.
package sqlite

// Package relational implements a ledger on a relational database, in SQL that SQLite and PostgreSQL both understand.
//
// An adapter opens and migrates its database and passes a [Database] to [New]. Storing reports is most of the writing and
// differs most between databases; an adapter implements it as a [Batch].
//
// # From reports to facts
//
//	Report, Heard ─► queue ─► one transaction for all that wait ─► ids ─► advance ─► facts, states
//
// Callers wait until their reports are stored. Those that wait at the same time share a transaction, so that storing
// is cheaper under load. If a shared transaction fails, each caller gets its own, and only the caller with the bad report fails.
//
// [advance] is pure and decides alone what is a fact: the newest observation wins.
package relational

// Package relational is what ledgers in relational databases have in common: how reports become facts,
// and the questions, in SQL that SQLite and PostgreSQL both understand.
//
// An adapter opens and migrates its database and gives a [Database] to [New]. The bulk of the writing, taking
// reports, is the part in which the engines differ most; an adapter does it as a [Batch].
//
// # From reports to facts
//
//	Report, Heard ─► queue ─► one transaction for all that wait ─► ids ─► advance ─► facts, states
//
// Callers wait until their reports are stored, and those that wait at the same time share a transaction,
// which makes storing cheap just when there is much to store. When a shared transaction does not succeed,
// each caller gets one of its own, so that nobody fails for somebody else.
//
// [advance] is the rule that the newest observation wins. It is pure, and the only one that decides what is a fact.
package relational

// Package measure says whether an answer of the world passes a verification: it compiles and evaluates the expressions of
// verifications, and formats answers as evidence.
//
//	HTTP response     ─► status, headers, body, json ─┐
//	Prometheus answer ─► result, results, baseline ───┴─► Expression ─► passed, or why not
//
// An answer without data never passes: an empty answer, and a value that is not a number, are errors whatever the expression says.
// It is pure: package verify asks, and package promote records the answers.
package measure

// Package trial plans changes that are not merged yet, for the pages.
//
//	question ─► the same one in progress, or answered a moment ago? ─► its answer
//	                  └► no: the queue of the role ─► planned, one at a time ─► answer, cached for a moment
//
// # Limits
//
// Planning reads repositories and renders an environment, which takes seconds for a large fleet. So equal questions are
// planned once. Readers and operators have a queue each, which plans one question at a time, so that neither waits for the other.
// A queue is short, and a question that no client repeats is dropped.
//
// A client does not have to keep a connection open: if it asks again, it gets the answer when it is there.
package trial

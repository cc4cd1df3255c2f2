// Package trial plans what people want to try, for whoever looks at pages.
//
//	question ─► the same one under way, or answered a moment ago? ─► its answer
//	                  └► no: a place in the lane of the role ─► planned, one at a time ─► answer, kept for a moment
//
// # What clicking cannot do
//
// Planning reads repositories and renders an environment, which takes seconds where the fleet is large. So equal questions are
// planned once, however many ask them; one question is planned at a time for readers, and one for those who may do more, so that
// neither waits for the other; only a few wait in each lane; and what nobody asks for any more is not begun.
//
// Nobody has to keep a connection open: whoever asks again gets the answer when it is there.
package trial

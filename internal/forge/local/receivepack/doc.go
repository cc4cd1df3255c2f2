// Package receivepack reads what a push asks for before git does, and says no in git's own words.
//
// A push over HTTP is a list of commands, each a line with its length in front, then a flush, then the objects:
//
//	00a5<old> <new> refs/heads/main\0report-status side-band-64k agent=git/2.39
//	0066<old> <new> refs/heads/other
//	0000PACK...
//
// A commit of zeros as old creates the reference, as new deletes it.
// The client prints the answer to each command beside the reference, which is where people look for a reason.
package receivepack

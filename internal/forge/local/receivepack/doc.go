// Package receivepack reads a push's commands before git does, and refuses pushes in git's protocol.
//
// A push over HTTP is a list of commands, each a line prefixed with its length, then a flush, then the objects:
//
//	00a5<old> <new> refs/heads/main\0report-status side-band-64k agent=git/2.39
//	0066<old> <new> refs/heads/other
//	0000PACK...
//
// If old is all zeros, the command creates the reference; if new is, it deletes it.
// The client prints the answer to each command beside the reference, where users look for a reason.
package receivepack

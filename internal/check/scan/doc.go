// Package scan says what scans of images and charts found, and what that means for the change that brings them.
//
//	scans of the check policies ─┐          ┌─ passed    the program found nothing in this digest
//	images and charts of targets ┼─► result ┼─ found     it found something
//	records, by scan and digest ─┘          ├─ running   it is looked at now
//	                                        └─ waiting   nobody could look yet: a tag that leads nowhere, a program that ended badly
//
// A scan looks at a digest, which never changes, so it is run once for each: its [Record] is kept under a [Key], and counts
// wherever the digest comes up again. What is known about a digest does change: a scan may say how old a record may be that a
// change relies on, and is run again then. What the record says counts until a run comes to an end; one that came to none is tried
// again, after pauses that grow ([Record.Due]).
//
// [Judge] says what all results together mean. What nobody looked at has not passed.
//
// References come from manifests that anybody may have written. They have to be references before a program sees them
// ([chart.ParseImage]), so that none is taken for an option of it.
package scan

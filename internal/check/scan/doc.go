// Package scan decides what the results of image and chart scans mean for a pull request.
//
//	scans of the check policies ─┐          ┌─ passed    the program found nothing in this digest
//	images and charts of targets ┼─► result ┼─ found     it found something
//	records, by scan and digest ─┘          ├─ running   the scan is running or queued
//	                                        └─ waiting   it could not run: an unknown tag, a failed program
//
// A digest never changes, so it is scanned once: the [Record] is stored under a [Key], and applies
// wherever the digest is used. Knowledge about a digest does change, so a scan can set the maximum age of a record
// and run again then. The old record applies until a run completes; a failed run is retried
// with increasing pauses ([Record.Due]).
//
// [Combine] combines all results. An artifact that was not scanned has not passed.
//
// References come from untrusted manifests. They must be valid ([chart.ParseImage]) before a program gets them,
// so that none is mistaken for an option.
package scan

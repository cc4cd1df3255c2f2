// Package scanner scans images and charts in the background, once for each digest or as often as the scan requires.
//
//	scans × images, charts ─► tag looked up ─► record? ─yes─► result; if it has expired, the program runs again
//	                              │              └─no──► claimed ─► program ─► record ─► result of the next call
//	                              └─ not found ─► waiting, retried
//
// [Scanner.Results] never blocks: it returns the current state, and starts missing scans in the background. [Waiting]
// is for commands: it blocks until all scans have ended.
//
// A [Store], which several processes can share, keeps a record until a newer run completes. Before a program runs,
// the digest is claimed and the record is read again, so that rounds and processes never run the same scan twice. A
// terminated process leaves no record, and its claim ends. A failed scan
// is retried on request, with increasing pauses.
package scanner

// Package scanner has images and charts scanned, once for each digest or as often as a scan wants it, while rounds go on.
//
//	scans × images, charts ─► tag looked up ─► record? ─yes─► result; where it is old, a program runs as well
//	                              │              └─no──► claimed ─► program ─► record ─► the next look has a result
//	                              └─ leads nowhere ─► waiting, tried again
//
// [Scanner.Results] never waits: it says how things stand, and begins what is missing in the background; whoever asks again later
// learns what came of it. [Waiting] is for programs that end when everything is known.
//
// What was found in a digest is on record until a newer run ends, in a [Store] that several processes may share. Whoever runs a program claims the
// digest first and looks at the record again, so that two rounds, or two processes, never do it twice. A process that ends
// leaves no record, and its claim ends with it. What came to no end is tried again, after pauses that grow, when somebody asks.
package scanner

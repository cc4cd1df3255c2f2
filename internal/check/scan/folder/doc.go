// Package folder stores scan records in a folder that several processes can share:
//
//	<folder>/<key>.json   the record of a scan of a digest
//	<folder>/<key>.lock   exists, and is locked, while a process runs the scan
//
// Records are written to a temporary file and renamed. A damaged record counts as missing, so its digest is scanned again.
// Locks end with their process. On systems without file locks, only runs within one process are deduplicated.
package folder

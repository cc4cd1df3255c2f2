// Package folder keeps what scans found in a folder, which several processes may share:
//
//	<folder>/<key>.json   the record of a scan of a digest
//	<folder>/<key>.lock   is there, and locked, while a process works on it
//
// Records are written beside and renamed. One that is damaged counts as none, so that its digest is looked at again. The lock of a
// process that ends, however it does, ends with it. Where the system has no locks for files, only this process is kept from doing
// a thing twice.
package folder

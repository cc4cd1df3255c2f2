package ledger

import (
	"errors"
	"syscall"
)

// The kinds of errors. Match with [errors.Is].
var (
	// ErrNotFound means that the ledger has no such record.
	ErrNotFound = errors.New("not found")
	// ErrInvalid means that an argument is invalid: a name is missing, or a value is unknown.
	ErrInvalid = errors.New("invalid")
)

// The codes of full disks: SQLite's SQLITE_FULL, and PostgreSQL's disk_full.
const (
	sqliteFull   = 13
	postgresFull = "53100"
)

// IsFull reports whether an error means that a disk is full. Nothing was stored then, and the same request can succeed later.
func IsFull(err error) bool {
	var coded interface{ Code() int }
	var stated interface{ SQLState() string }
	switch {
	case errors.Is(err, syscall.ENOSPC):
		return true
	case errors.As(err, &coded) && coded.Code()&0xff == sqliteFull: // the rest of the code is the detail
		return true
	}
	return errors.As(err, &stated) && stated.SQLState() == postgresFull
}

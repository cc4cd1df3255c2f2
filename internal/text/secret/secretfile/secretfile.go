// Package secretfile reads the files that hold credentials: tokens, passwords and keys. All of Kalypso reads them here.
//
// What is read is hidden in the log from then on.
//
// Such a file is named by a user or a configuration, and can be anything: a device, a pipe, the wrong file. Reading stops at
// [MaxSize], and errors have the name of the file, never its content.
package secretfile

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/kalypso-io/kalypso/internal/text/secret"
	"github.com/kalypso-io/kalypso/internal/text/secret/known"
)

// MaxSize is the maximum size of a file, in bytes. Key rings are the largest that are used.
const MaxSize = 1 << 20

// ErrTooLarge means that a file is larger than [MaxSize].
var ErrTooLarge = fmt.Errorf("it is larger than %d KiB, so it is not a token or a key", MaxSize>>10)

// Read returns the content of a file. The error is [ErrTooLarge], or one of [os.Open] and of reading.
func Read(file string) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // it was only read
	content, err := io.ReadAll(io.LimitReader(f, MaxSize+1))
	if err != nil {
		return nil, err
	}
	if len(content) > MaxSize {
		return nil, fmt.Errorf("read %s: %w", file, ErrTooLarge)
	}
	if bytes.Contains(content, []byte("PRIVATE KEY")) {
		known.Add(secret.New(string(content)))
	}
	return content, nil
}

// Value returns the secret in a file, without spaces around it; zero if it is empty. The errors are those of [Read].
func Value(file string) (secret.Value, error) {
	content, err := Read(file)
	if err != nil {
		return secret.Value{}, err
	}
	v := secret.New(strings.TrimSpace(string(content)))
	known.Add(v)
	return v, nil
}

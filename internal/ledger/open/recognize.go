package open

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/kalypso-io/kalypso/internal/ledger"
)

// identityFile is the file in a data folder that has the identity of the ledger that was used with it.
const identityFile = "ledger-identity"

// Recognition says whether a ledger is the one that was used with a data folder before.
type Recognition string

// The results of [Recognize].
const (
	// First means that the folder did not know a ledger. It knows this one now.
	First Recognition = "first"
	// Same means that it knows this one.
	Same Recognition = "same"
	// Other means that it knows another ledger: that one was lost, and the present one does not have its facts. [Accept] ends this.
	Other Recognition = "other"
)

// Recognize compares a ledger with the one that a data folder knows.
func Recognize(ctx context.Context, l ledger.Identified, folder string) (Recognition, error) {
	identity, err := l.Identity(ctx)
	if err != nil {
		return "", err
	}
	known, err := os.ReadFile(filepath.Join(folder, identityFile))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return First, write(folder, identity)
	case err != nil:
		return "", fmt.Errorf("read which ledger was used: %w", err)
	case strings.TrimSpace(string(known)) == identity:
		return Same, nil
	}
	return Other, nil
}

// Accept makes a ledger the one that a data folder knows.
func Accept(ctx context.Context, l ledger.Identified, folder string) error {
	identity, err := l.Identity(ctx)
	if err != nil {
		return err
	}
	return write(folder, identity)
}

// write replaces the file as a whole: half of an identity would be another one.
func write(folder, identity string) error {
	file := filepath.Join(folder, identityFile)
	err := os.WriteFile(file+".new", []byte(identity+"\n"), 0o600)
	if err == nil {
		err = os.Rename(file+".new", file)
	}
	if err != nil {
		return fmt.Errorf("write which ledger is used: %w", err)
	}
	return nil
}

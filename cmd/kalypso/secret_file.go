package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/kalypso-io/kalypso/internal/cli"
)

// secretFile is a new file for a credential, which only its owner can read.
// It is made before the credential is: one that cannot be kept would be lost. A nil secretFile is none.
type secretFile struct{ file *os.File }

// newSecretFile makes the file; nil for an empty name.
func newSecretFile(name string) (*secretFile, error) {
	if name == "" {
		return nil, nil
	}
	file, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, os.ErrExist) {
		return nil, cli.Failed(fmt.Errorf("%q exists already", name), "choose another name, or remove it: what it holds may still be in use")
	}
	if err != nil {
		return nil, fmt.Errorf("make the file for the credential: %w", err)
	}
	return &secretFile{file}, nil
}

// keep writes the credential of a cluster into the file, and takes what is secret out of what is shown.
func (s *secretFile) keep(r *registered) error {
	if s == nil {
		return nil
	}
	if r.Credential.Credential == "" {
		return s.discard()
	}
	if err := s.write(r.Credential.Credential); err != nil {
		return cli.Failed(err, "the credential is lost; kalypso cluster rotate makes another one")
	}
	r.Credential.Credential, r.FluxKey, r.File = "", "", s.file.Name()
	return nil
}

func (s *secretFile) write(text string) error {
	_, err := fmt.Fprintln(s.file, text)
	if err = errors.Join(err, s.file.Sync(), s.file.Close()); err != nil {
		return fmt.Errorf("write the credential: %w", err)
	}
	return nil
}

// discard removes a file that nothing was written to.
func (s *secretFile) discard() error {
	if s == nil {
		return nil
	}
	return errors.Join(s.file.Close(), os.Remove(s.file.Name()))
}

package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/kalypso-io/kalypso/internal/cli"
)

// secretFile is a new file for a credential that only its owner can read. It is created before the credential, so that no
// credential is lost. A nil secretFile stands for no file.
type secretFile struct{ file *os.File }

// newSecretFile creates the file; nil for an empty name.
func newSecretFile(name string) (*secretFile, error) {
	if name == "" {
		return nil, nil
	}
	file, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, os.ErrExist) {
		return nil, cli.Failed(fmt.Errorf("%q exists already", name), "choose another name, or remove the file if its credential is no longer used")
	}
	if err != nil {
		return nil, fmt.Errorf("create the file for the credential: %w", err)
	}
	return &secretFile{file}, nil
}

// keep writes the credential of a cluster to the file, and removes the secrets from r.
func (s *secretFile) keep(r *registered) error {
	if s == nil {
		return nil
	}
	if r.Credential.Credential == "" {
		return s.discard()
	}
	if err := s.write(r.Credential.Credential); err != nil {
		return cli.Failed(err, "the credential is lost; create another one with kalypso cluster rotate")
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

// discard removes an empty file.
func (s *secretFile) discard() error {
	if s == nil {
		return nil
	}
	return errors.Join(s.file.Close(), os.Remove(s.file.Name()))
}

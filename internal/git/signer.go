package git

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/kalypso-io/kalypso/internal/text/secret"
	"github.com/kalypso-io/kalypso/internal/text/secret/secretfile"
)

// Signer signs commits. [LoadSigner] creates one from a key.
//
// Equal requests make equal commits only if the signer is deterministic. SSH keys of the kinds
// ed25519 and RSA are. OpenPGP, whose signatures contain the time, and ECDSA are not: a repeated commit has another ID.
// To check whether a branch already has the commit, compare [Commit.Unsigned].
type Signer interface {
	// Sign returns the armored signature of a commit object, in one of the formats that git verifies.
	Sign(commit []byte) (string, error)
}

// LoadSigner reads a private key from a file: an SSH key as ssh-keygen writes it, or an armored OpenPGP key as
// "gpg --armor --export-secret-keys" writes it. The passphrase is needed for keys that are encrypted.
func LoadSigner(file string, passphrase Secret) (Signer, error) {
	e := &Error{Kind: ErrInvalid, Op: "load signing key", Where: file}
	text, err := secretfile.Read(file)
	if errors.Is(err, secretfile.ErrTooLarge) {
		e.Detail = "it is too large for a key"
		return nil, e
	}
	if err != nil {
		return nil, storageError(e.Op, file, err)
	}
	var signer Signer
	switch {
	case bytes.Contains(text, []byte("-----BEGIN PGP ")):
		signer, err = newOpenPGPSigner(text, passphrase)
	case bytes.Contains(text, []byte(" PRIVATE KEY-----")):
		signer, err = newSSHSigner(text, passphrase)
	default:
		e.Detail, e.Hint = "it holds no private key", "name the file of an SSH or an armored OpenPGP private key"
		return nil, e
	}
	if err == nil {
		// Find an unusable key now rather than after all other work.
		_, err = signer.Sign(nil)
	}
	if err != nil {
		e.Detail, e.Hint = secret.Scrub(err.Error(), passphrase), "check the key, and its passphrase if it has one"
		return nil, e
	}
	return signer, nil
}

// sign adds a signature to a commit object's headers, which end with the first empty line.
func sign(commit []byte, signer Signer) ([]byte, error) {
	signature, err := signer.Sign(commit)
	if err != nil {
		return nil, err
	}
	headers, message, _ := bytes.Cut(commit, []byte("\n\n"))
	lines := strings.ReplaceAll(strings.TrimSpace(signature), "\n", "\n ")
	return fmt.Appendf(nil, "%s\ngpgsig %s\n\n%s", headers, lines, message), nil
}

// unsigned returns a commit object without its signatures: the text that they sign.
func unsigned(commit []byte) []byte {
	end := bytes.Index(commit, []byte("\n\n"))
	if end < 0 || !bytes.Contains(commit[:end], []byte("\ngpgsig")) {
		return commit
	}
	var kept []byte
	signature := false
	for line := range bytes.Lines(commit[:end+1]) {
		// Lines that start with a space continue a header.
		if line[0] != ' ' {
			name, _, _ := bytes.Cut(line, []byte(" "))
			signature = string(name) == "gpgsig" || string(name) == "gpgsig-sha256"
		}
		if !signature {
			kept = append(kept, line...)
		}
	}
	return append(kept, commit[end+1:]...)
}

package git

import (
	"crypto/rand"
	"crypto/sha512"
	"encoding/pem"
	"errors"
	"fmt"

	"golang.org/x/crypto/ssh"
)

// sshSigner signs in the format of "ssh-keygen -Y sign", which OpenSSH describes in PROTOCOL.sshsig.
type sshSigner struct{ key ssh.Signer }

func newSSHSigner(text []byte, passphrase Secret) (Signer, error) {
	key, err := ssh.ParsePrivateKey(text)
	var missing *ssh.PassphraseMissingError
	if errors.As(err, &missing) && !passphrase.IsZero() {
		key, err = ssh.ParsePrivateKeyWithPassphrase(text, []byte(passphrase.Reveal()))
	}
	if err != nil {
		return nil, err
	}
	return sshSigner{key}, nil
}

// The namespace prevents a commit's signature from being used for anything else.
const (
	sshMagic     = "SSHSIG"
	sshNamespace = "git"
	sshHash      = "sha512"
)

// sshSigned is the signed text, after the magic.
type sshSigned struct{ Namespace, Reserved, Hash, Digest string }

// sshSignature is the signature, after the magic.
type sshSignature struct {
	Version                                         uint32
	PublicKey, Namespace, Reserved, Hash, Signature string
}

// Sign implements [Signer].
func (s sshSigner) Sign(commit []byte) (string, error) {
	signature, err := s.signature(sshMessage(commit))
	if err != nil {
		return "", err
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "SSH SIGNATURE", Bytes: append([]byte(sshMagic), ssh.Marshal(sshSignature{
		Version: 1, PublicKey: string(s.key.PublicKey().Marshal()),
		Namespace: sshNamespace, Hash: sshHash, Signature: string(ssh.Marshal(signature)),
	})...)})), nil
}

func sshMessage(commit []byte) []byte {
	digest := sha512.Sum512(commit)
	return append([]byte(sshMagic), ssh.Marshal(sshSigned{Namespace: sshNamespace, Hash: sshHash, Digest: string(digest[:])})...)
}

func (s sshSigner) signature(message []byte) (*ssh.Signature, error) {
	switch kind := s.key.PublicKey().Type(); kind {
	case ssh.KeyAlgoRSA:
		// By default the key would use SHA-1, which the format forbids.
		algorithms, ok := s.key.(ssh.AlgorithmSigner)
		if !ok {
			return nil, fmt.Errorf("the key cannot sign with %s", ssh.KeyAlgoRSASHA512)
		}
		return algorithms.SignWithAlgorithm(rand.Reader, message, ssh.KeyAlgoRSASHA512)
	case "ssh-dss": // DSA is too weak, and git does not verify it
		return nil, fmt.Errorf("keys of the kind %s sign no commits; use ed25519", kind)
	}
	return s.key.Sign(rand.Reader, message)
}

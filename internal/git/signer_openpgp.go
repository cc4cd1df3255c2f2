package git

import (
	"bytes"
	"errors"
	"strings"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
)

// openPGPSigner signs like "gpg --armor --detach-sign".
type openPGPSigner struct{ key *openpgp.Entity }

func newOpenPGPSigner(text []byte, passphrase Secret) (Signer, error) {
	keys, err := openpgp.ReadArmoredKeyRing(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	for _, key := range keys {
		if key.PrivateKey == nil {
			continue
		}
		// A key without encryption needs no passphrase.
		if err := key.DecryptPrivateKeys([]byte(passphrase.Reveal())); err != nil {
			return nil, err
		}
		return openPGPSigner{key}, nil
	}
	return nil, errors.New("it holds only public keys")
}

// Sign implements [Signer].
func (s openPGPSigner) Sign(commit []byte) (string, error) {
	var armored strings.Builder
	err := openpgp.ArmoredDetachSign(&armored, s.key, bytes.NewReader(commit), &packet.Config{})
	return armored.String(), err
}

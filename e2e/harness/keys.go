package harness

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"os"
	"path/filepath"
)

// keys are what API servers ask credentials with: one administrator's token, and the key that signs service accounts' tokens.
// The certificates of their servers they make themselves.
type keys struct {
	token                   string
	tokens, private, public string // paths
}

// newKeys makes keys and writes them to the lab.
func newKeys(l *Lab) (*keys, error) {
	dir, err := l.Folder("keys")
	if err != nil {
		return nil, err
	}
	k := &keys{
		token: rand.Text(), tokens: filepath.Join(dir, "tokens.csv"),
		private: filepath.Join(dir, "accounts.key"), public: filepath.Join(dir, "accounts.pub"),
	}
	signing, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return nil, fmt.Errorf("make a key: %w", err)
	}
	public, err := x509.MarshalPKIXPublicKey(&signing.PublicKey)
	if err != nil {
		return nil, fmt.Errorf("write down a key: %w", err)
	}
	for path, content := range map[string][]byte{
		k.tokens:  []byte(k.token + `,admin,admin,"system:masters"` + "\n"),
		k.private: pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(signing)}),
		k.public:  pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public}),
	} {
		if err := os.WriteFile(path, content, 0o600); err != nil {
			return nil, err
		}
	}
	return k, nil
}

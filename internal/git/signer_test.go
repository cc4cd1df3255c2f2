package git

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/pem"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/armor"
	"github.com/go-git/go-git/v5/plumbing"
	"golang.org/x/crypto/ssh"

	"github.com/kalypso-io/kalypso/internal/text/secret/secretfile"
)

// signingKey is a private key in a file, with what others need to verify its signatures.
type signingKey struct {
	file       string
	passphrase Secret
	// public is what git verifies with: a line of an authorized_keys file, or an armored OpenPGP key.
	public string
	// verify checks a signature of a text with a library.
	verify func(signed []byte, signature string) error
}

func newSSHKey(t *testing.T, private crypto.Signer, passphrase string) signingKey {
	t.Helper()
	block, err := ssh.MarshalPrivateKey(private, "ann")
	if passphrase != "" {
		block, err = ssh.MarshalPrivateKeyWithPassphrase(private, "ann", []byte(passphrase))
	}
	if err != nil {
		t.Fatal(err)
	}
	public, err := ssh.NewPublicKey(private.Public())
	if err != nil {
		t.Fatal(err)
	}
	return signingKey{
		file: writeKey(t, pem.EncodeToMemory(block)), passphrase: NewSecret(passphrase),
		public: string(ssh.MarshalAuthorizedKey(public)),
		verify: func(signed []byte, signature string) error { return verifySSH(public, signed, signature) },
	}
}

func verifySSH(public ssh.PublicKey, signed []byte, armored string) error {
	block, _ := pem.Decode([]byte(armored))
	if block == nil || block.Type != "SSH SIGNATURE" || !bytes.HasPrefix(block.Bytes, []byte(sshMagic)) {
		return errors.New("not the format")
	}
	var outer sshSignature
	if err := ssh.Unmarshal(block.Bytes[len(sshMagic):], &outer); err != nil {
		return err
	}
	var inner ssh.Signature
	if err := ssh.Unmarshal([]byte(outer.Signature), &inner); err != nil {
		return err
	}
	return public.Verify(sshMessage(signed), &inner)
}

func newOpenPGPKey(t *testing.T, passphrase string) signingKey {
	t.Helper()
	entity, err := openpgp.NewEntity("Ann", "", "ann@example.com", nil)
	if err != nil {
		t.Fatal(err)
	}
	var private, public bytes.Buffer
	if err := armored(&public, openpgp.PublicKeyType, entity.Serialize); err != nil {
		t.Fatal(err)
	}
	if passphrase != "" {
		if err := entity.EncryptPrivateKeys([]byte(passphrase), nil); err != nil {
			t.Fatal(err)
		}
	}
	err = armored(&private, openpgp.PrivateKeyType, func(w io.Writer) error { return entity.SerializePrivateWithoutSigning(w, nil) })
	if err != nil {
		t.Fatal(err)
	}
	return signingKey{
		file: writeKey(t, private.Bytes()), passphrase: NewSecret(passphrase), public: public.String(),
		verify: func(signed []byte, signature string) error {
			_, err := openpgp.CheckArmoredDetachedSignature(openpgp.EntityList{entity}, bytes.NewReader(signed), strings.NewReader(signature), nil)
			return err
		},
	}
}

func armored(to *bytes.Buffer, kind string, write func(io.Writer) error) error {
	w, err := armor.Encode(to, kind, nil)
	if err != nil {
		return err
	}
	return errors.Join(write(w), w.Close())
}

func writeKey(t *testing.T, text []byte) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func newEd25519(t *testing.T) ed25519.PrivateKey {
	t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// signingKeys are keys of all kinds, by name.
func signingKeys(t *testing.T) map[string]signingKey {
	t.Helper()
	rsaKey, errRSA := rsa.GenerateKey(rand.Reader, 2048)
	ecdsaKey, errECDSA := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err := errors.Join(errRSA, errECDSA); err != nil {
		t.Fatal(err)
	}
	return map[string]signingKey{
		"ssh ed25519":       newSSHKey(t, newEd25519(t), ""),
		"ssh with a phrase": newSSHKey(t, newEd25519(t), "correct horse"),
		"ssh rsa":           newSSHKey(t, rsaKey, ""),
		"ssh ecdsa":         newSSHKey(t, ecdsaKey, ""),
		"pgp":               newOpenPGPKey(t, ""),
		"pgp with a phrase": newOpenPGPKey(t, "correct horse"),
	}
}

// verifyCommit runs "git verify-commit" with one trusted key.
func (r *testRepo) verifyCommit(key signingKey, commit string) {
	r.t.Helper()
	believed := filepath.Join(r.t.TempDir(), "believed")
	text, program := key.public, "gpg"
	if strings.HasPrefix(key.public, "ssh-") || strings.HasPrefix(key.public, "ecdsa-") {
		text, program = "ann@example.com "+key.public, "ssh-keygen"
	}
	if _, err := exec.LookPath(program); err != nil {
		r.t.Skipf("%s is not installed: git verified nothing", program)
	}
	if err := os.WriteFile(believed, []byte(text), 0o600); err != nil {
		r.t.Fatal(err)
	}
	if program == "ssh-keygen" {
		r.git("-c", "gpg.ssh.allowedSignersFile="+believed, "verify-commit", commit)
		return
	}
	r.t.Setenv("GNUPGHOME", filepath.Dir(believed))
	if out, err := exec.Command("gpg", "--batch", "--no-autostart", "--import", believed).CombinedOutput(); err != nil {
		r.t.Fatalf("gpg --import: %v\n%s", err, out)
	}
	r.git("verify-commit", commit)
}

// Git and the libraries verify the signature, and the rest of the commit equals the unsigned one.
func TestCommitSigned(t *testing.T) {
	for name, key := range signingKeys(t) {
		t.Run(name, func(t *testing.T) {
			made := newRepo(t, someFiles)
			r := open(t, newClient(t, nil), made.dir)
			signer, err := LoadSigner(key.file, key.passphrase)
			if err != nil {
				t.Fatal(err)
			}
			request := request(resolve(t, r, "main", ""), map[string]string{"x": "y"})
			plain := mustCommit(t, r, request)
			request.Signer = signer
			c := mustCommit(t, r, request)
			if err := r.Push(t.Context(), "signed", "", c); err != nil {
				t.Fatal(err)
			}
			if c.Hash == plain.Hash || c.Unsigned != plain.Hash || plain.Unsigned != plain.Hash {
				t.Errorf("signed %+v, plain %+v", c, plain)
			}
			if got := resolve(t, r, "signed", ""); got.Unsigned != plain.Hash || got.Subject != plain.Subject {
				t.Errorf("resolved %+v", got)
			}
			content, err := r.store().object(plumbing.NewHash(plain.Hash), plumbing.CommitObject, maxStructure)
			if err != nil {
				t.Fatal(err)
			}
			signature := made.git("cat-file", "commit", c.Hash)
			_, signature, _ = strings.Cut(signature, "\ngpgsig ")
			signature, _, _ = strings.Cut(signature, "\n\nchange")
			if err := key.verify(content, strings.ReplaceAll(signature, "\n ", "\n")); err != nil {
				t.Errorf("by library: %v", err)
			}
			// Only keys whose signatures need neither randomness nor a clock make equal commits from equal requests.
			again := mustCommit(t, r, request)
			if deterministic := strings.HasPrefix(name, "ssh") && name != "ssh ecdsa"; (again.Hash == c.Hash) != deterministic {
				t.Errorf("made again it is the same: %v, want %v", again.Hash == c.Hash, deterministic)
			}
			if again.Unsigned != c.Unsigned {
				t.Error("made again it differs in more than the signature")
			}
			made.git("fsck", "--strict")
			made.verifyCommit(key, c.Hash)
		})
	}
}

func TestLoadSignerRefuses(t *testing.T) {
	ssh, pgp := newSSHKey(t, newEd25519(t), "correct horse"), newOpenPGPKey(t, "correct horse")
	for name, test := range map[string]struct {
		file       string
		passphrase string
		kind       error
		text       string
	}{
		"missing":            {filepath.Join(t.TempDir(), "none"), "", ErrUnavailable, "no such file"},
		"empty":              {writeKey(t, nil), "", ErrInvalid, "no private key"},
		"public ssh key":     {writeKey(t, []byte(ssh.public)), "", ErrInvalid, "no private key"},
		"public pgp key":     {writeKey(t, []byte(pgp.public)), "", ErrInvalid, "only public keys"},
		"cut short":          {writeKey(t, []byte("-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA")), "", ErrInvalid, ""},
		"pgp cut short":      {writeKey(t, []byte("-----BEGIN PGP PRIVATE KEY BLOCK-----\n\nAAAA")), "", ErrInvalid, ""},
		"ssh without phrase": {ssh.file, "", ErrInvalid, "passphrase"},
		"ssh wrong phrase":   {ssh.file, "hunter22", ErrInvalid, "passphrase"},
		"pgp without phrase": {pgp.file, "", ErrInvalid, "passphrase"},
		"pgp wrong phrase":   {pgp.file, "hunter22", ErrInvalid, "passphrase"},
		"too large":          {writeKey(t, make([]byte, secretfile.MaxSize+1)), "", ErrInvalid, "too large"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := LoadSigner(test.file, NewSecret(test.passphrase))
			wantKind(t, err, test.kind, test.text)
			if strings.Contains(err.Error(), "hunter22") {
				t.Errorf("the error repeats the passphrase: %v", err)
			}
		})
	}
}

type brokenSigner struct{}

func (brokenSigner) Sign([]byte) (string, error) { return "", errors.New("the token was unplugged") }

func TestCommitThatCannotBeSigned(t *testing.T) {
	made := newRepo(t, someFiles)
	r := open(t, newClient(t, nil), made.dir)
	request := request(resolve(t, r, "main", ""), map[string]string{"x": "y"})
	request.Signer = brokenSigner{}
	_, err := r.Commit(t.Context(), request)
	wantKind(t, err, ErrDenied, "unplugged")
}

// Whatever the signatures, unsigned returns what was signed.
func TestUnsigned(t *testing.T) {
	plain := "tree t\nauthor a\nencoding x\n\ngpgsig of the message\n more\n"
	for name, text := range map[string]string{
		"none":   plain,
		"one":    strings.Replace(plain, "encoding", "gpgsig -----BEGIN\n \n abc\n -----END\nencoding", 1),
		"both":   strings.Replace(plain, "encoding x\n", "gpgsig-sha256 a\n b\nencoding x\ngpgsig c\n d\n", 1),
		"at end": strings.Replace(plain, "x\n", "x\ngpgsig a\n b\n", 1),
	} {
		if got := string(unsigned([]byte(text))); got != plain {
			t.Errorf("%s: got\n%s", name, got)
		}
	}
	for _, broken := range []string{"", "tree t", "\n\n", "\ngpgsig\n\n"} {
		_ = unsigned([]byte(broken))
	}
}

package scanner_test

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/kalypso-io/kalypso/internal/chart"
	"github.com/kalypso-io/kalypso/internal/check"
	"github.com/kalypso-io/kalypso/internal/check/scan"
)

// beside is what a registry has beside an image, and why it cannot be read.
type beside struct {
	evidence chart.Evidence
	err      error
}

func (b *beside) Evidence(context.Context, chart.Image, string) (chart.Evidence, error) {
	return b.evidence, b.err
}

// TestImagesMustBeSigned checks that an image that is not signed is refused until it is, and that a registry that does not answer proves nothing.
func TestImagesMustBeSigned(t *testing.T) {
	w := newWorld(t)
	s, registry := w.process(), &beside{err: errors.New("the registry does not answer")}
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKIXPublicKey(public)
	if err != nil {
		t.Fatal(err)
	}
	digest := "sha256:" + strings.Repeat("a", 64)
	scans := []check.Scan{{Name: "signed", What: check.Images, Level: check.Refuse, Signatures: &check.Signatures{
		Keys: []string{string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}))}, Require: "signature",
	}}}
	look := func() scan.Result {
		return waitFor(s, scans, images("registry.example/shop@"+digest))[0]
	}
	if r := look(); r.State != scan.Waiting || !strings.Contains(r.Reason, "signatures are not verified here") {
		t.Errorf("without a registry: %+v", r)
	}
	s.Signatures = registry
	w.pass(5 * time.Minute)
	if r := look(); r.State != scan.Waiting || !strings.Contains(r.Reason, "does not answer") {
		t.Errorf("a registry that does not answer: %+v", r)
	}
	w.pass(5 * time.Minute)
	registry.err = nil
	if r := look(); r.State != scan.Found || !strings.Contains(r.Output, "no signature by a key of the policy") || scan.Combine([]scan.Result{r}) != scan.Found {
		t.Errorf("an image that is not signed: %+v", r)
	}
	payload := fmt.Appendf(nil, `{"critical":{"type":"cosign container image signature","image":{"docker-manifest-digest":%q}}}`, digest)
	registry.evidence.Signatures = []chart.Signature{{Payload: payload, Signature: ed25519.Sign(private, payload)}}
	if r := look(); r.State != scan.Found {
		t.Errorf("it is asked again at once: %+v", r)
	}
	w.pass(11 * time.Minute)
	if r := look(); r.State != scan.Passed {
		t.Errorf("an image that was signed meanwhile: %+v", r)
	}
	w.pass(1000 * time.Hour)
	registry.err = errors.New("the registry does not answer")
	if r := look(); r.State != scan.Passed || r.Again {
		t.Errorf("what was verified is verified again: %+v", r)
	}
}

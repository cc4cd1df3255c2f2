package forgetest

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/kalypso-io/kalypso/internal/fleet/casetest"
	"github.com/kalypso-io/kalypso/internal/forge"
)

// Delivery is how a forge authenticates deliveries.
type Delivery struct {
	Verifier forge.WebhookVerifier // required
	// Sign adds the headers that authenticate a body.
	Sign func(header http.Header, body []byte, key forge.Secret) // required
	// Unsigned means that they do not cover the body.
	Unsigned bool
}

// Deliveries runs the cases in testdata/deliveries. Each is a delivery with the documented headers and the documented fields that
// matter, in "header" and "body.json", and what becomes of it in "event". None is accepted unless it is authentic.
func (d Delivery) Deliveries(t *testing.T) {
	casetest.Run(t, "testdata/deliveries/*.txtar", func(t *testing.T, c casetest.Case) {
		header, body := headerOf(c.Text("header")), []byte(c.Text("body.json"))
		signed := header.Clone()
		d.Sign(signed, body, deliveryKey)
		e, err := d.Verifier.VerifyWebhook(signed, body, deliveryKey)
		if err != nil {
			c.Golden(t, "event", err.Error()+"\n")
		} else {
			c.Golden(t, "event", describeEvent(e))
		}
		d.denied(t, "without authentication", header, body, deliveryKey)
		d.denied(t, "with another secret", signed, body, forge.NewSecret("another"))
		d.denied(t, "without a secret of ours", signed, body, forge.Secret{})
		if !d.Unsigned {
			d.denied(t, "with another body", signed, append(bytes.Clone(body), ' '), deliveryKey)
		}
		d.Sign(header, body, forge.Secret{})
		d.denied(t, "with an empty secret", header, body, forge.Secret{})
	})
}

var deliveryKey = forge.NewSecret("a shared secret")

func (d Delivery) denied(t *testing.T, how string, header http.Header, body []byte, key forge.Secret) {
	t.Helper()
	if e, err := d.Verifier.VerifyWebhook(header, body, key); !errors.Is(err, forge.ErrDenied) {
		t.Errorf("%s: got %+v, %v", how, e, err)
	}
}

// headerOf parses lines of "Name: value".
func headerOf(text string) http.Header {
	header := http.Header{}
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(line, ":"); ok {
			header.Add(name, strings.TrimSpace(value))
		}
	}
	return header
}

// describeEvent returns the fields of an event that are set, one per line.
func describeEvent(e forge.Event) string {
	var b strings.Builder
	line := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, "%s: %s\n", name, value)
		}
	}
	line("kind", string(e.Kind))
	line("repository", e.Repository)
	line("branch", e.Branch)
	line("commit", e.Commit)
	if e.PullRequest != 0 {
		line("pull request", fmt.Sprint(e.PullRequest))
	}
	line("sender", e.Sender)
	line("delivery", e.Delivery)
	if !e.Time.IsZero() {
		line("time", e.Time.UTC().Format(time.RFC3339))
	}
	return b.String()
}

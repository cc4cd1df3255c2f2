package comply_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/kalypso-io/kalypso/internal/promote/comply"
)

// TestOneCauseHasOneSignature lists messages of different clusters, the first named a-1 and the second edge-22, with the same cause.
func TestOneCauseHasOneSignature(t *testing.T) {
	for _, pair := range [][2]string{
		{"fails at 1f0c2aa: quota exceeded", "fails at 22b0c1d: quota exceeded"},
		{"a-1 has no disk left", "edge-22 has no disk left"},
		{"no route to a-1: timeout", "no route to edge-22: timeout"},
		{"3 of 5 pods are ready", "1 of 7 pods are ready"},
		{"0/3 nodes are available", "0/12 nodes are available"},
		{"requested 512Mi, limited to 1.5Gi", "requested 2Gi, limited to 1Gi"},
		{"not ready after 5m3s:", "not ready after 45s:"},
		{"since 2026-11-20T10:00:00Z", "since 2026-11-21T11:30:02.5+01:00"},
		{"waiting for Pod/shop/web-5d4f8b-x2x4z: image not found", "waiting for Pod/shop/web-7c9e1a-9d9e9: image not found"},
		{"StatefulSet shop/db-0 is not ready", "StatefulSet shop/db-12 is not ready"},
		{"dial tcp 10.0.0.1:6443: connection refused", "dial tcp 192.168.7.20:6443: connection refused"},
		{"revision main@sha1:1f0c2aa3 is not there", "revision main@sha1:77e0c2ab is not there"},
		{"request 0b7e1d4e-3f0a-4d3c-9c1f-8a0d2f6b1c11 failed", "request ffffffff-3f0a-4d3c-9c1f-8a0d2f6b1c99 failed"},
		{"node ip-10-0-1-3 is not ready", "node ip-10-12-0-7 is not ready"},
		{"usage=93% of disk", "usage=99% of disk"},
		{"two\n  lines", "two lines"},
		{
			`fails at 1f0c2aa: Namespace/first dry-run failed (Forbidden): admission webhook "policy.example.com" denied the request: no owner`,
			`fails at 22b0c1d: Deployment/shop/web dry-run failed (Forbidden): admission webhook "policy.example.com" denied the request: no owner`,
		},
		{
			`Pod/a dry-run failed: Internal error occurred: failed calling webhook "x": no endpoints`,
			`Job/b/c dry-run failed: Internal error occurred: failed calling webhook "x": no endpoints`,
		},
	} {
		a, b := comply.Signature(pair[0], "a-1"), comply.Signature(pair[1], "edge-22")
		if a != b {
			t.Errorf("%q and %q are not the same: %q, %q", pair[0], pair[1], a, b)
		}
	}
}

// TestDifferentCausesAreNotJoined lists messages that look alike and have to be fixed in different ways.
func TestDifferentCausesAreNotJoined(t *testing.T) {
	for _, pair := range [][2]string{
		{"unexpected status code 401", "unexpected status code 503"},
		{"GET /healthz: 404", "GET /healthz: 500"},
		{
			`Pod/a dry-run failed (Forbidden): admission webhook "x" denied the request: no owner`,
			`Pod/a dry-run failed (Forbidden): admission webhook "x" denied the request: no limits`,
		},
		{`Pod/a dry-run failed (Invalid): spec.nodeName is immutable`, `Pod/b dry-run failed (Invalid): spec.nodeName is immutable`},
		{"HTTP 404", "HTTP 429"},
		{"code=401", "code=403"},
		{"exit code 1", "exit code 137"},
		{"exited: 1", "exited: 2"},
		{"yaml: line 7: did not find expected key", "yaml: line 12: did not find expected key"},
		{"connection refused on port 443", "connection refused on port 6443"},
		{"dial tcp 10.0.0.1:443: refused", "dial tcp 10.0.0.1:6443: refused"},
		{"dial tcp: lookup db.example.com: no such host", "dial tcp: lookup git.example.com: no such host"},
		{`no matches for kind "Deployment" in version "apps/v1beta1"`, `no matches for kind "Deployment" in version "apps/v1beta2"`},
		{"apps/v1beta1 is not served", "policy/v1beta1 is not served"},
		{"image shop:1.4.2 not found", "image shop:1.5.0 not found"},
		{`secret "tls" not found`, `secret "database" not found`},
		{"Pod/shop/web-5d4f8b: image not found", "Pod/billing/web-5d4f8b: image not found"},
		{"Pod/shop/web-5d4f8b: image not found", "Pod/shop/worker-7c9e1a: image not found"},
		{"CVE-2026-1001 is not fixed", "CVE-2026-2002 is not fixed"},
		{"namespace shop-v1 is missing", "namespace shop-v2 is missing"},
		{"a-1 is full", "a-2 is full"}, // only the first is the cluster
		{"field is immutable", "field is required"},
		{"too large", "too small"},
		{"", "#"},
	} {
		a, b := comply.Signature(pair[0], "a-1"), comply.Signature(pair[1], "a-1")
		if a == b {
			t.Errorf("%q and %q are both %q", pair[0], pair[1], a)
		}
	}
}

// TestWordsTellCausesApart checks that no word without a digit is ever lost.
func TestWordsTellCausesApart(t *testing.T) {
	words := rapid.SliceOf(rapid.StringMatching(`[a-zA-Z/:=.,"()-]{1,9}`))
	rapid.Check(t, func(t *rapid.T) {
		message := strings.Join(words.Draw(t, "words"), " ")
		if got := comply.Signature(message, "a-1"); got != message {
			t.Errorf("%q became %q", message, got)
		}
	})
}

func TestHostileMessages(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		message := rapid.String().Draw(t, "message")
		once := comply.Signature(message, "a-1", "")
		if again := comply.Signature(once, "a-1", ""); again != once {
			t.Errorf("%q became %q, then %q", message, once, again)
		}
	})
}

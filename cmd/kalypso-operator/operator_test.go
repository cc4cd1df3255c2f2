package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Wrong flags end the program before it connects to anything, and say what is wrong. So does a kubeconfig that does not exist.
func TestUsage(t *testing.T) {
	nowhere := filepath.Join(t.TempDir(), "kubeconfig")
	for _, tc := range []struct {
		args string
		code int
		want string
	}{
		{"--allow github.com", 2, `"github.com" is not a server such as https://github.com or postgres://db.example.com`},
		{"--allow postgres://user:password@db", 2, "is not a server"},
		{"--allow https://github.com/acme", 2, "is not a server"},
		{"--workers 0", 2, "at least 1"},
		{"--timeout 1ms", 2, "at least a second"},
		{"--no-such-flag", 2, "no-such-flag"},
		{"extra", 2, "extra"},
		{"--kubeconfig " + nowhere, 1, "run it in a cluster, or use --kubeconfig"},
		{"--help", 0, "ControlPlane"},
		{"--version", 0, "kalypso-operator"},
	} {
		var stdout, stderr bytes.Buffer
		code := run(t.Context(), strings.Fields(tc.args), []string{"HOME=" + t.TempDir()}, os.Stdin, &stdout, &stderr)
		if out := stdout.String() + stderr.String(); code != tc.code || !strings.Contains(out, tc.want) {
			t.Errorf("%s: got %d and\n%s\nwant %d and %q", tc.args, code, out, tc.code, tc.want)
		}
	}
}

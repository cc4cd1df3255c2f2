package oci

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/kalypso-io/kalypso/internal/solution/registry/embedded"
)

// settings differ from the program's defaults: what the registry does not claim is off, with the reason, and what it does besides the defaults is on.
var settings = map[string]string{
	"OCI_API_BLOBS_DELETE=false":           "blobs are removed when no manifest has them",
	"OCI_API_TAGS_DELETE=false":            "tags are immutable: manifests are deleted by digest",
	"OCI_DATA_SHA512=false":                "digests are of sha256",
	"OCI_DATA_NONDISTRIBUTABLE=false":      "manifests whose layers are not in the registry are refused",
	"OCI_API_BLOBS_UPLOAD_CANCEL=true":     "not in the defaults, and served",
	"OCI_API_BLOBS_DIGEST_HEADER=true":     "not in the defaults, and served",
	"OCI_API_MANIFESTS_DIGEST_HEADER=true": "not in the defaults, and served",
}

// least is how many tests pass at least, so that a part that is skipped for a new reason is noticed.
const least = 500

func TestConformance(t *testing.T) {
	folder := t.TempDir()
	program := filepath.Join(folder, "conformance")
	if out, err := exec.Command("go", "build", "-o", program, "github.com/opencontainers/distribution-spec/conformance").CombinedOutput(); err != nil {
		t.Fatalf("build the program: %v\n%s", err, out)
	}
	server := httptest.NewServer(open(t))
	defer server.Close()
	cmd := exec.Command(program)
	cmd.Dir = folder
	cmd.Env = append(os.Environ(), "OCI_VERSION=1.1", "OCI_REGISTRY="+strings.TrimPrefix(server.URL, "http://"), "OCI_TLS=disabled",
		"OCI_USERNAME=judge", "OCI_PASSWORD=secret", "OCI_RESULTS_DIR="+folder)
	for setting := range settings {
		cmd.Env = append(cmd.Env, setting)
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%v:\n%s", err, out)
	}
	passed, failed, skipped := count(t, out, "Pass"), count(t, out, "FAIL")+count(t, out, "Error"), count(t, out, "Skip")
	t.Logf("%d agreed, %d failed, %d skipped, %d switched off", passed, failed, skipped, count(t, out, "Disabled"))
	if passed < least || failed > 0 {
		t.Errorf("want at least %d that pass, and none that fails:\n%s", least, out)
	}
}

// count returns the number of tests with a result, from the program's summary.
func count(t *testing.T, out []byte, result string) int {
	t.Helper()
	m := regexp.MustCompile(`(?m)^ *` + result + `\.*: +(\d+)$`).FindSubmatch(out)
	if m == nil {
		t.Fatalf("the program does not say how many are %q:\n%s", result, out)
	}
	n, err := strconv.Atoi(string(m[1]))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// open opens an empty registry, which asks for a credential as the server does.
func open(t *testing.T) *embedded.Registry {
	r, err := embedded.Open(t.Context(), embedded.Options{
		Dir: filepath.Join(t.TempDir(), "registry"), Size: 1 << 30, Log: slog.New(slog.DiscardHandler),
		Admit: func(r *http.Request, _ embedded.Action) (context.Context, string, error) {
			user, password, _ := r.BasicAuth()
			if password != "secret" {
				return nil, "", &embedded.Refusal{Status: http.StatusUnauthorized, Code: "UNAUTHORIZED", Message: "no"}
			}
			return r.Context(), user, nil
		},
		Record: func(context.Context, embedded.Action, string, string) error { return nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return r
}

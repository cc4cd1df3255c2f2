package reconciler

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestConnect(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "kubeconfig")
	text := `{"apiVersion":"v1","kind":"Config","current-context":"a","contexts":[{"name":"a","context":{"cluster":"a"}}],` +
		`"clusters":[{"name":"a","cluster":{"server":"https://127.0.0.1:1"}}]}`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Connect(file, "kalypso", nil, slog.New(slog.DiscardHandler)); err != nil {
		t.Error(err)
	}
	if _, err := Connect(file+".not", "kalypso", nil, slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), "read the kubeconfig") {
		t.Errorf("got %v, want that the file is not there", err)
	}
}

func TestConfigTakesAContext(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "kubeconfig")
	text := `{"apiVersion":"v1","kind":"Config","current-context":"a",` +
		`"contexts":[{"name":"a","context":{"cluster":"a"}},{"name":"b","context":{"cluster":"b"}}],` +
		`"clusters":[{"name":"a","cluster":{"server":"https://127.0.0.1:1"}},{"name":"b","cluster":{"server":"https://127.0.0.1:2"}}]}`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for context, want := range map[string]string{"": "https://127.0.0.1:1", "b": "https://127.0.0.1:2"} {
		if got, err := Config(file, context, "kalypso"); err != nil || got.Host != want || got.UserAgent != "kalypso" {
			t.Errorf("context %q: got %v, %v, want %s", context, got, err, want)
		}
	}
	if _, err := Config(file, "c", "kalypso"); err == nil || !strings.Contains(err.Error(), `"c"`) {
		t.Errorf("got %v, want that there is no such context", err)
	}
}

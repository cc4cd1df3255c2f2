package open_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kalypso-io/kalypso/internal/ledger/open"
)

// A token in a ledger that no server reads would be worth nothing. A server with PostgreSQL keeps no ledger in its data folder.
func TestOfServer(t *testing.T) {
	folder := t.TempDir()
	file, elsewhere := filepath.Join(folder, "ledger.db"), filepath.Join(t.TempDir(), "ledger.db")
	l := openLedger(t, elsewhere)
	if _, err := open.Recognize(t.Context(), l, folder); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	refused := func(what string) {
		t.Helper()
		if l, err := open.OfServer(t.Context(), file); err == nil || !strings.Contains(err.Error(), "is not the ledger of the server") {
			t.Errorf("%s: got %v, %v", what, l, err)
		}
	}
	refused("a new file")
	if _, err := os.Stat(file); err == nil {
		t.Error("the file was made")
	}
	other := openLedger(t, file)
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
	refused("a file with another ledger")
	for what, at := range map[string]string{"a folder without a server": elsewhere} {
		l, err := open.OfServer(t.Context(), at)
		if err != nil {
			t.Errorf("%s: %v", what, err)
			continue
		}
		if err := open.Accept(t.Context(), l, folder); err != nil {
			t.Error(err)
		}
		_ = l.Close()
	}
	l, err := open.Ledger(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	if err := open.Accept(t.Context(), l, folder); err != nil {
		t.Fatal(err)
	}
	_ = l.Close()
	if l, err := open.OfServer(t.Context(), file); err != nil {
		t.Errorf("the ledger of the server: %v", err)
	} else {
		_ = l.Close()
	}
}

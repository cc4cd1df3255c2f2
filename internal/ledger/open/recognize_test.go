package open_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/ledger/open"
)

// TestRecognize loses a ledger: its file is there no more, and the data folder is.
func TestRecognize(t *testing.T) {
	folder := t.TempDir()
	file := filepath.Join(folder, "ledger.db")
	recognize := func(what string, want open.Recognition) {
		t.Helper()
		l := openLedger(t, file)
		defer l.Close()
		if got, err := open.Recognize(t.Context(), l, folder); err != nil || got != want {
			t.Errorf("%s: got %s, %v, want %s", what, got, err, want)
		}
	}
	recognize("a new folder", open.First)
	recognize("a restart", open.Same)

	var exported bytes.Buffer
	l := openLedger(t, file)
	if err := ledger.Export(t.Context(), l, &exported); err != nil {
		t.Fatal(err)
	}
	backup := filepath.Join(folder, "backup.db")
	if err := l.(ledger.Backuper).Backup(t.Context(), backup); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	for _, suffix := range []string{"", "-wal", "-shm"} {
		_ = os.Remove(file + suffix)
	}
	recognize("a lost ledger", open.Other)
	recognize("it stays lost", open.Other)
	l = openLedger(t, file)
	if err := ledger.Import(t.Context(), l, &exported); err != nil {
		t.Fatal(err)
	}
	if err := open.Accept(t.Context(), l, folder); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	recognize("after a user accepted it", open.Same)
	file = backup
	recognize("a copy of the lost one", open.Other)
}

func openLedger(t *testing.T, file string) ledger.Ledger {
	t.Helper()
	l, err := open.Ledger(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

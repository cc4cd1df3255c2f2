package api_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/serve/access"
)

// TestAFullDiskIsTemporary limits the file of the ledger, with which SQLite fails like on a full disk.
func TestAFullDiskIsTemporary(t *testing.T) {
	w := newWorld(t)
	var noticed bool
	w.server.OnError = func(err error) { noticed = noticed || ledger.IsFull(err) }
	if _, err := w.ledger.Write.ExecContext(t.Context(), "PRAGMA max_page_count = 1"); err != nil { // it becomes the present number
		t.Fatal(err)
	}
	var last asked
	for i := 0; i < 300 && last.status < 500; i++ {
		last = w.post("/api/v1/environments/dev/pause", w.tokens[access.Operator], `{"why": "`+strings.Repeat("long ", 80)+`"}`)
	}
	p := wantProblem(t, last, http.StatusServiceUnavailable)
	if last.header.Get("Retry-After") == "" || !strings.Contains(p.Detail, "disk is full") || !noticed {
		t.Errorf("Retry-After %q, %q, noticed %t", last.header.Get("Retry-After"), p.Detail, noticed)
	}
}

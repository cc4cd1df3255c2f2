package folder_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kalypso-io/kalypso/internal/check/scan"
	"github.com/kalypso-io/kalypso/internal/check/scan/folder"
)

func open(t *testing.T, at string) *folder.Store {
	t.Helper()
	s, err := folder.New(at)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestRecords(t *testing.T) {
	at := filepath.Join(t.TempDir(), "a", "b")
	want := scan.Record{Scan: "trivy", Digest: "sha256:1", State: scan.Found, Output: "CVE", Attempts: 1, At: time.Date(2026, 5, 4, 0, 0, 0, 0, time.UTC)}
	s := open(t, at)
	if r, err := s.Record(t.Context(), "ab12"); err != nil || r.Attempts != 0 {
		t.Errorf("got %+v, %v", r, err)
	}
	if err := s.Keep(t.Context(), "ab12", want); err != nil {
		t.Fatal(err)
	}
	got, err := open(t, at).Record(t.Context(), "ab12")
	if diff := cmp.Diff(got, want); diff != "" || err != nil {
		t.Errorf("%v (-got +want):\n%s", err, diff)
	}
	if err := os.WriteFile(filepath.Join(at, "ab12.json"), []byte(`{"state": "pass`), 0o600); err != nil {
		t.Fatal(err)
	}
	if r, err := s.Record(t.Context(), "ab12"); err != nil || r.Final() {
		t.Errorf("a damaged record says %+v, %v", r, err)
	}
	for _, key := range []string{"", "../ab12", "AB", "a/b", "a.json"} {
		if _, err := s.Record(t.Context(), key); err == nil {
			t.Errorf("%q is a key", key)
		}
		if err := s.Keep(t.Context(), key, want); err == nil {
			t.Errorf("%q is a key", key)
		}
	}
}

func TestClaims(t *testing.T) {
	at := t.TempDir()
	one, other := open(t, at), open(t, at)
	release, err := one.Claim(t.Context(), "ab")
	if err != nil {
		t.Fatal(err)
	}
	for name, s := range map[string]*folder.Store{"the same process": one, "another one": other} {
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		if _, err := s.Claim(ctx, "ab"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: got %v", name, err)
		}
		cancel()
	}
	free, err := other.Claim(t.Context(), "cd")
	if err != nil {
		t.Fatal(err)
	}
	free()
	time.AfterFunc(50*time.Millisecond, release)
	release, err = other.Claim(t.Context(), "ab")
	if err != nil {
		t.Fatal(err)
	}
	release()
	if left, err := os.ReadDir(at); err != nil || len(left) > 0 {
		t.Errorf("left %v, %v", left, err)
	}
}

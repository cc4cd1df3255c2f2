package secretfile

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/kalypso-io/kalypso/internal/text/secret/known"
)

func TestReadStopsAtTheLimit(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	for size, ok := range map[int]bool{0: true, MaxSize: true, MaxSize + 1: false} {
		if err := os.WriteFile(file, bytes.Repeat([]byte("x"), size), 0o600); err != nil {
			t.Fatal(err)
		}
		content, err := Read(file)
		if ok != (err == nil) || ok && len(content) != size {
			t.Errorf("%d bytes: got %d, %v", size, len(content), err)
		}
		if !ok && (!strings.Contains(err.Error(), file) || strings.Contains(err.Error(), "xxx")) {
			t.Errorf("%d bytes: got %v", size, err)
		}
	}
	if runtime.GOOS == "linux" {
		if _, err := Read("/dev/zero"); err == nil || !strings.Contains(err.Error(), "read /dev/zero: it is larger than 1024 KiB") {
			t.Errorf("a device without an end: got %v", err)
		}
	}
}

func TestValue(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	if _, err := Value(file); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	for content, want := range map[string]string{" kal_123456 \n": "kal_123456", "\n": ""} {
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if v, err := Value(file); err != nil || v.Reveal() != want || v.IsZero() != (want == "") {
			t.Errorf("%q: got %q, %v", content, v.Reveal(), err)
		}
	}
}

// What was read is hidden in the log: tokens, and keys by line.
func TestReadIsKnown(t *testing.T) {
	dir := t.TempDir()
	key := "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIKnownKey\n-----END PRIVATE KEY-----\n"
	for name, content := range map[string]string{"token": "token-of-a-file\n", "key": key, "public": "-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEAPublic\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Value(filepath.Join(dir, "token")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"key", "public"} {
		if _, err := Read(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	got := known.Hide("token-of-a-file MC4CAQAwBQYDK2VwBCIEIKnownKey MCowBQYDK2VwAyEAPublic")
	if want := "*** *** MCowBQYDK2VwAyEAPublic"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

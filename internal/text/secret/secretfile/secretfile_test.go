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
	for content, want := range map[string]string{" kal_1 \n": "kal_1", "\n": ""} {
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if v, err := Value(file); err != nil || v.Reveal() != want || v.IsZero() != (want == "") {
			t.Errorf("%q: got %q, %v", content, v.Reveal(), err)
		}
	}
}

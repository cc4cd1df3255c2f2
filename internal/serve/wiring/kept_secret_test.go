package wiring

import (
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/kalypso-io/kalypso/internal/serve"
)

// TestSecretsThatCanBeGuessedAreRefused checks that a server does not use an empty or short secret, and names its file.
func TestSecretsThatCanBeGuessedAreRefused(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "session-key")
	made, err := KeptSecret(file)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := KeptSecret(file); err != nil || again.Reveal() != made.Reveal() {
		t.Errorf("the secret is not kept: %v", err)
	}
	for _, content := range []string{"", "\n", "x\n", "fifteen letters"} {
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := KeptSecret(file); err == nil || !strings.Contains(err.Error(), file) {
			t.Errorf("%q: %v", content, err)
		}
	}
}

// TestOthersCannotReadSecrets checks that a server takes the rights of other users to its secrets away, and says so.
func TestOthersCannotReadSecrets(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("modes are not rights here")
	}
	var log strings.Builder
	s := &Server{Options: Options{Config: &serve.Config{Data: t.TempDir()}, Log: slog.New(slog.NewTextHandler(&log, nil))}}
	file := filepath.Join(s.Config.Data, sessionKeyFile)
	if err := os.WriteFile(file, []byte("0123456789abcdef"), 0o600); err != nil {
		t.Fatal(err)
	}
	if s.keepPrivate(); log.Len() > 0 {
		t.Errorf("a private file: %s", &log)
	}
	if err := os.Chmod(file, 0o664); err != nil {
		t.Fatal(err)
	}
	s.keepPrivate()
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o660 || !strings.Contains(log.String(), file) {
		t.Errorf("mode %v, %v: %s", info.Mode(), err, &log)
	}
}

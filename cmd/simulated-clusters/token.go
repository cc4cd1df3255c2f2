package main

import (
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/kalypso-io/kalypso/internal/agent"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// controlFile is where the token of the simulation that listens on an address is.
func controlFile(address string) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find a folder for the token of --control: %w", err)
	}
	name := strings.NewReplacer(":", "_", "[", "", "]", "").Replace(address)
	return filepath.Join(cache, "kalypso", "simulated-clusters", "control", name), nil
}

// writeToken makes the token with which commands control the simulation at an address.
func writeToken(address string) (string, secret.Value, error) {
	file, err := controlFile(address)
	if err != nil {
		return "", secret.Value{}, err
	}
	token := rand.Text()
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return "", secret.Value{}, fmt.Errorf("write the token of --control: %w", err)
	}
	if err := agent.WriteFile(file, []byte(token+"\n")); err != nil {
		return "", secret.Value{}, fmt.Errorf("write the token of --control: %w", err)
	}
	return file, secret.New(token), nil
}

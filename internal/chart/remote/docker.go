package remote

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// DockerFile returns a function for [Client.Credential] that reads a file in the format of "docker login" and of Kubernetes' pull secrets:
//
//	{"auths": {"registry.example": {"auth": "<user:password in base64>"}}}
//
// The file is read on each call, so that replaced credentials take effect. An entry applies to its whole host and to no
// other. Credential programs (credsStore, credHelpers) are not run. A missing or unreadable file has no
// entries; a damaged one is an error, which does not repeat its content.
func DockerFile(path string) func(ctx context.Context, host string) (Credential, error) {
	return func(_ context.Context, host string) (Credential, error) {
		text, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
			return Credential{}, nil
		}
		if err != nil {
			return Credential{}, err
		}
		var file struct {
			Auths map[string]dockerEntry `json:"auths"`
		}
		if json.Unmarshal(text, &file) != nil {
			return Credential{}, fmt.Errorf("%q is not a configuration of docker: it has to be JSON, with an object auths", path)
		}
		wanted := registryOf(host)
		for _, name := range slices.Sorted(maps.Keys(file.Auths)) {
			if wanted == "" || registryOf(name) != wanted {
				continue
			}
			found, err := file.Auths[name].credential()
			if err != nil {
				return Credential{}, fmt.Errorf("read the entry %q of %q: %w", name, path, err)
			}
			if !found.Password.IsZero() {
				return found, nil
			}
		}
		return Credential{}, nil
	}
}

// dockerEntry is the credential of one host. Username and password are an old spelling of auth.
type dockerEntry struct {
	Auth     string `json:"auth"`
	Username string `json:"username"`
	Password string `json:"password"`
}

func (e dockerEntry) credential() (Credential, error) {
	if e.Auth == "" {
		return Credential{User: e.Username, Password: secret.New(e.Password)}, nil
	}
	text, err := base64.StdEncoding.DecodeString(e.Auth)
	user, password, ok := strings.Cut(string(text), ":")
	if err != nil || !ok {
		return Credential{}, errors.New("auth is not user:password in base64")
	}
	return Credential{User: user, Password: secret.New(strings.TrimRight(password, "\x00"))}, nil
}

// registryOf returns the host of an entry, which can be a URL. Empty for an entry that applies to a part of a host only.
func registryOf(name string) string {
	if _, rest, ok := strings.Cut(name, "://"); ok {
		name = rest
	}
	host, path, _ := strings.Cut(strings.ToLower(name), "/")
	switch strings.TrimSuffix(path, "/") {
	case "", "v1", "v2":
	default:
		return ""
	}
	switch host {
	case "index.docker.io", "registry-1.docker.io":
		return "docker.io" // the one registry with several names
	}
	return host
}

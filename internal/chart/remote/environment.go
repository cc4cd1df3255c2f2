package remote

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"

	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// Environment variables with the credential for one registry or chart repository. Without the host, the credential is not used.
const (
	EnvHost     = "KALYPSO_CHART_HOST"
	EnvUser     = "KALYPSO_CHART_USERNAME"
	EnvPassword = "KALYPSO_CHART_PASSWORD"
	// EnvDockerConfig is the folder of Docker's configuration, which has credentials for any number of hosts.
	EnvDockerConfig = "DOCKER_CONFIG"
)

// NewUserClient returns a client with the credentials in an environment. It caches charts in the user's cache folder.
func NewUserClient(env func(name string) string) (*Client, error) {
	client := &Client{Credential: EnvironmentCredential(env), PlainHTTP: OnThisMachine}
	folder, err := os.UserCacheDir()
	if err != nil {
		return client, nil //nolint:nilerr // without a home there is no cache, which is only slower
	}
	client.Cache, err = NewCache(filepath.Join(folder, "kalypso", "charts"), 0)
	if errors.Is(err, os.ErrPermission) {
		return client, nil
	}
	return client, err
}

// OnThisMachine reports whether a registry, with or without a port, is on this machine: it is used without
// encryption, as other programs do.
func OnThisMachine(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return secret.IsLoopback(host)
}

// EnvironmentCredential returns a function for [Client.Credential]: the credential in the environment variables if it is for
// the host, or else the one in Docker's configuration file.
func EnvironmentCredential(env func(name string) string) func(ctx context.Context, host string) (Credential, error) {
	docker := DockerFile(dockerFile(env))
	return func(ctx context.Context, host string) (Credential, error) {
		if password := env(EnvPassword); password != "" && host == env(EnvHost) {
			return Credential{User: env(EnvUser), Password: secret.New(password)}, nil
		}
		return docker(ctx, host)
	}
}

// dockerFile returns the path of Docker's configuration file. Empty without a home, since the current folder is not trusted.
func dockerFile(env func(name string) string) string {
	if folder := env(EnvDockerConfig); folder != "" {
		return filepath.Join(folder, "config.json")
	}
	if home := env("HOME"); home != "" {
		return filepath.Join(home, ".docker", "config.json")
	}
	return ""
}

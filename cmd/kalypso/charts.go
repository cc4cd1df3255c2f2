package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/kalypso-io/kalypso/internal/chart/remote"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// Variables with which registries and repositories of charts know us. Without the host, the credential goes nowhere.
const (
	envChartHost     = "KALYPSO_CHART_HOST"
	envChartUser     = "KALYPSO_CHART_USERNAME"
	envChartPassword = "KALYPSO_CHART_PASSWORD"
	// envDockerConfig is the folder of docker's configuration, which has those of any number of hosts.
	envDockerConfig = "DOCKER_CONFIG"
)

// chartClient fetches charts, and keeps them in the user's cache folder.
func chartClient(env map[string]string) (*remote.Client, error) {
	client := &remote.Client{Credential: registryCredential(func(name string) string { return env[name] })}
	folder, err := os.UserCacheDir()
	if err != nil {
		return client, nil //nolint:nilerr // without a home there is no cache, which is only slower
	}
	client.Cache, err = remote.NewCache(filepath.Join(folder, "kalypso", "charts"), 0)
	if errors.Is(err, os.ErrPermission) {
		return client, nil
	}
	return client, err
}

// registryCredential is how registries and repositories of charts know us: by the variables, and else by docker's file.
func registryCredential(env func(name string) string) func(ctx context.Context, host string) (remote.Credential, error) {
	docker := remote.DockerFile(dockerFile(env))
	return func(ctx context.Context, host string) (remote.Credential, error) {
		if password := env(envChartPassword); password != "" && host == env(envChartHost) {
			return remote.Credential{User: env(envChartUser), Password: secret.New(password)}, nil
		}
		return docker(ctx, host)
	}
}

// dockerFile is where docker has its configuration; empty where nobody is at home: the folder that we are in may be anybody's.
func dockerFile(env func(name string) string) string {
	if folder := env(envDockerConfig); folder != "" {
		return filepath.Join(folder, "config.json")
	}
	if home := env("HOME"); home != "" {
		return filepath.Join(home, ".docker", "config.json")
	}
	return ""
}

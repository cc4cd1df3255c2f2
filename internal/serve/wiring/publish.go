package wiring

import (
	"crypto/ed25519"
	"fmt"
	"net"
	"net/url"
	"slices"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/chart/remote"
	"github.com/kalypso-io/kalypso/internal/plane"
	"github.com/kalypso-io/kalypso/internal/promote/verify"
	"github.com/kalypso-io/kalypso/internal/serve"
	"github.com/kalypso-io/kalypso/internal/solution/registry"
	"github.com/kalypso-io/kalypso/internal/text/outbound"
	"github.com/kalypso-io/kalypso/internal/text/secret"
	"github.com/kalypso-io/kalypso/internal/text/secret/secretfile"
)

// newPublisher returns a publisher of the versions of applications; nil if the configuration does not say where to.
func newPublisher(c serve.PublishConfig, env func(name string) string) (*plane.Publisher, error) {
	if c.To == "" {
		return nil, nil
	}
	to, err := registry.Parse(c.To)
	if err != nil || to.Repository == "" || to.Tag != "" || to.Digest != "" {
		return nil, fmt.Errorf("publish.to: %q is not oci://REGISTRY/PATH", c.To)
	}
	client := &remote.Client{HTTP: outbound.New(outbound.Options{Timeout: plane.PublishTime}), Credential: remote.EnvironmentCredential(env), PlainHTTP: onThisMachine}
	key, err := publishKey(c)
	return &plane.Publisher{Client: client, Key: key, To: to}, err
}

// publishKey reads the key that signs versions; nil for none.
func publishKey(c serve.PublishConfig) (ed25519.PrivateKey, error) {
	if c.KeyFile == "" {
		return nil, nil
	}
	text, err := secretfile.Read(c.KeyFile)
	if err != nil {
		return nil, fmt.Errorf("publish.keyFile: %w", err)
	}
	key, err := hub.ParseReportKey(text)
	if err != nil {
		return nil, fmt.Errorf("publish.keyFile: %w", err)
	}
	return key, nil
}

// onThisMachine reports whether a registry is used without encryption, as other programs do.
func onThisMachine(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return secret.IsLoopback(host)
}

// newPlatformPublisher returns a publisher to public addresses and listed hosts only: a control plane names the
// registry, and must not make the server send requests to its own network.
func newPlatformPublisher(config *serve.Config, version string, env func(name string) string) (*plane.Publisher, error) {
	hosts := slices.Clone(config.Verify.Hosts)
	for _, address := range []string{config.Publish.To, config.URL} {
		if at, err := url.Parse(address); err == nil && at.Hostname() != "" {
			hosts = append(hosts, at.Hostname())
		}
	}
	client := (&verify.Runner{Hosts: hosts}).Client()
	client.Timeout = plane.PublishTime
	key, err := publishKey(config.Publish)
	return &plane.Publisher{
		Client: &remote.Client{HTTP: client, Credential: remote.EnvironmentCredential(env), PlainHTTP: onThisMachine}, Key: key, Version: version,
	}, err
}

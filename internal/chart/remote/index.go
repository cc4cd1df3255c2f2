package remote

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/Masterminds/semver/v3"
	"sigs.k8s.io/yaml"

	"github.com/kalypso-io/kalypso/internal/text/outbound"
)

// index reads a repository's index, and returns a chart's versions, newest first.
func (c *Client) index(ctx context.Context, p place) ([]version, error) {
	content, err := c.get(ctx, strings.TrimSuffix(p.url.String(), "/")+"/index.yaml", p.url.Host, MaxIndex, "the index")
	if err != nil {
		return nil, err
	}
	var index struct {
		Entries map[string][]struct {
			Version string   `json:"version"`
			URLs    []string `json:"urls"`
			Digest  string   `json:"digest"`
		} `json:"entries"`
	}
	if err := yaml.Unmarshal(content, &index); err != nil {
		return nil, fmt.Errorf("%w: its index is not valid: %w", ErrUnavailable, err)
	}
	var all []version
	for _, e := range index.Entries[p.name] {
		parsed, err := semver.NewVersion(e.Version)
		if err != nil || len(e.URLs) == 0 {
			continue
		}
		at, err := archiveURL(p.url, e.URLs[0])
		if err != nil {
			continue
		}
		all = append(all, version{parsed: parsed, text: e.Version, url: at, digest: asDigest(e.Digest)})
	}
	sortVersions(all)
	return all, nil
}

// archiveURL returns the URL of an archive in an index, which can be on any host.
func archiveURL(repository *url.URL, named string) (string, error) {
	u, err := url.Parse(named)
	if err != nil {
		return "", err
	}
	base := *repository
	base.Path = strings.TrimSuffix(base.Path, "/") + "/"
	at := base.ResolveReference(u)
	if at.Scheme != "https" && at.Scheme != repository.Scheme || at.Scheme == "oci" || at.User != nil {
		return "", fmt.Errorf("%q is not where an archive can be", named)
	}
	return at.String(), nil
}

// asDigest parses a digest as indexes write it. Empty if it is not a digest.
func asDigest(text string) string {
	hex := strings.TrimPrefix(text, "sha256:")
	odd := func(r rune) bool { return !('0' <= r && r <= '9' || 'a' <= r && r <= 'f') }
	if len(hex) != 64 || strings.ContainsFunc(hex, odd) {
		return ""
	}
	return "sha256:" + hex
}

// sortVersions sorts versions, newest first.
func sortVersions(all []version) {
	slices.SortStableFunc(all, func(a, b version) int { return b.parsed.Compare(a.parsed) })
}

// get downloads a URL. It sends credentials only to the repository's own host.
func (c *Client) get(ctx context.Context, at, home string, limit int64, what string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return nil, err
	}
	if request.URL.Host == home && c.Credential != nil && (request.URL.Scheme == "https" || c.plain(home)) {
		known, err := c.Credential(ctx, home)
		if err != nil {
			return nil, fmt.Errorf("find the credential for %s: %w", home, err)
		}
		if known.User != "" || !known.Password.IsZero() {
			request.SetBasicAuth(known.User, known.Password.Reveal())
		}
	}
	response, err := c.http().Do(request)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	defer response.Body.Close() //nolint:errcheck // nothing was written
	if response.StatusCode != http.StatusOK {
		return nil, statusError(response, what)
	}
	return readAll(response.Body, response.ContentLength, limit, what)
}

// statusError converts a refusal. Only temporary ones fall back to the cache.
func statusError(r *http.Response, what string) error {
	switch {
	case r.StatusCode >= 500 || r.StatusCode == http.StatusTooManyRequests || r.StatusCode == http.StatusRequestTimeout:
		return fmt.Errorf("%w: %s", ErrUnavailable, r.Status)
	case r.StatusCode == http.StatusUnauthorized || r.StatusCode == http.StatusForbidden:
		return fmt.Errorf("%s: the credential for %s is missing, or not enough", r.Status, r.Request.URL.Host)
	}
	return fmt.Errorf("%s: %s is not there", r.Status, what)
}

// plain reports whether a host can be used without encryption.
func (c *Client) plain(host string) bool { return c.PlainHTTP != nil && c.PlainHTTP(host) }

// longest is the time of a request without a client of the caller.
const longest = 5 * time.Minute

// http returns the HTTP client.
func (c *Client) http() *http.Client {
	if c.HTTP != nil {
		return c.HTTP
	}
	return outbound.New(outbound.Options{Timeout: longest, Once: true})
}

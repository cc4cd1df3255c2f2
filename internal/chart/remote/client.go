package remote

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
	"strings"

	"github.com/Masterminds/semver/v3"

	app "github.com/kalypso-io/kalypso/api/app/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/chart"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// The limits of downloads, in bytes.
const (
	// MaxArchive is the maximum size of a chart's archive.
	MaxArchive = 10 << 20
	// MaxIndex is the maximum size of a repository's index.
	MaxIndex = 64 << 20
)

// Credential is a user name and password for a host. The zero value is anonymous.
type Credential struct {
	User     string
	Password secret.Value
}

// basic returns the credential in the format of basic authentication.
func (c Credential) basic() secret.Value {
	if c.Password.IsZero() {
		return secret.Value{}
	}
	return secret.New(base64.StdEncoding.EncodeToString([]byte(c.User + ":" + c.Password.Reveal())))
}

// Client fetches charts. It is safe for concurrent use as long as its fields are not modified.
type Client struct {
	// HTTP sends all requests; its timeout applies to each. It defaults to [http.DefaultClient].
	HTTP *http.Client
	// Cache keeps fetched charts. Nil caches nothing.
	Cache *Cache
	// Credential returns the credential for a host, "charts.example.com" or with its port. Nil means anonymous access.
	Credential func(ctx context.Context, host string) (Credential, error)
	// PlainHTTP reports whether a host can be used without encryption: oci:// means http there, and credentials are sent to
	// http:// as well. Nil means none.
	PlainHTTP func(host string) bool
	// Refresh requests even exact versions that the cache has.
	Refresh bool
}

// Fetched is a complete chart, with its dependencies.
type Fetched struct {
	// Files are those of the chart, with its dependencies in its folder charts.
	Files []chart.File
	// Name and Version are those of the resolved chart.
	Name, Version string
	// Digest identifies the content: the digest of the archive, or of a folder's files.
	Digest string
	// Dependencies are the charts that were also fetched, in the order in which they were needed.
	Dependencies []Resolved
	// Notices are messages for the user, for example that a repository did not answer.
	Notices []string
}

// Resolved is a chart at an exact version.
type Resolved struct {
	Repository string `json:"repository"`
	Name       string `json:"name"`
	Version    string `json:"version"`
	// Digest is the digest of the archive, "sha256:" and hexadecimal digits.
	Digest string `json:"digest"`
}

// place is a chart in a repository, at a version or range.
type place struct {
	url  *url.URL
	name string
	// requested is the requested version or range as written.
	requested string
}

// Fetch fetches a chart from a repository, with its dependencies.
func (c *Client) Fetch(ctx context.Context, ref app.Chart) (*Fetched, error) {
	return c.fetch(ctx, ref, 0)
}

func (c *Client) fetch(ctx context.Context, ref app.Chart, depth int) (*Fetched, error) {
	p, err := parsePlace(ref)
	if err != nil {
		return nil, err
	}
	resolved, archive, notice, err := c.archive(ctx, p)
	if err != nil {
		return nil, fmt.Errorf("fetch chart %q %s from %s: %w", p.name, p.requested, secret.Redact(p.url.String()), err)
	}
	files, err := chart.Unpack(archive)
	if err != nil {
		return nil, fmt.Errorf("unpack chart %q %s from %s: %w", p.name, resolved.Version, secret.Redact(p.url.String()), err)
	}
	f := &Fetched{Files: files, Name: p.name, Version: resolved.Version, Digest: resolved.Digest}
	if notice != "" {
		f.Notices = append(f.Notices, notice)
	}
	return f, c.complete(ctx, f, nil, depth)
}

// Versions returns a chart's versions in a repository, newest first. It skips tags that are not versions.
func (c *Client) Versions(ctx context.Context, ref app.Chart) ([]string, error) {
	p, err := parsePlace(ref)
	if err != nil {
		return nil, err
	}
	found, err := c.versions(ctx, p)
	if err != nil {
		return nil, fmt.Errorf("list versions of chart %q in %s: %w", p.name, secret.Redact(p.url.String()), c.safe(ctx, p.url.Host, err))
	}
	texts := make([]string, len(found))
	for i, v := range found {
		texts[i] = v.text
	}
	return texts, nil
}

// parsePlace validates a reference to a chart.
func parsePlace(ref app.Chart) (place, error) {
	u, err := url.Parse(ref.Repository)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" && u.Scheme != "oci":
		return place{}, fmt.Errorf("%q is not the URL of a repository of charts; it begins with https:// or oci://", secret.Redact(ref.Repository))
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return place{}, fmt.Errorf("the URL of the repository %s has credentials, or a query, in it; configure credentials for the host instead", secret.Redact(ref.Repository))
	}
	p := place{url: u, name: ref.Name, requested: strings.TrimSpace(ref.Version)}
	if u.Scheme == "oci" {
		last := path.Base(u.Path)
		if p.name == "" {
			p.name = last
		} else if p.name != last { // as in Chart.yaml, where the URL is that of the folder
			u.Path = path.Join(u.Path, p.name)
		}
	}
	if !plainName(p.name) {
		return place{}, fmt.Errorf("%q is not the name of a chart", p.name)
	}
	if _, err := semver.NewConstraint(cmp.Or(p.requested, "*")); err != nil {
		return place{}, fmt.Errorf("%q is neither a version nor a range of versions: %w", p.requested, err)
	}
	return p, nil
}

// plainName reports whether a name is valid for a chart; it becomes part of paths.
func plainName(name string) bool {
	odd := func(r rune) bool {
		return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("._-", r))
	}
	return name != "" && len(name) <= 250 && name[0] != '.' && name[0] != '_' && !strings.ContainsFunc(name, odd)
}

// archive resolves a version and returns the archive, from the cache if possible.
func (c *Client) archive(ctx context.Context, p place) (Resolved, []byte, string, error) {
	_, err := semver.StrictNewVersion(strings.TrimPrefix(p.requested, "v"))
	if exact := err == nil; exact && !c.Refresh {
		if r, archive, ok := c.Cache.resolved(p); ok {
			return r, archive, "", nil
		}
	}
	r, archive, err := c.ask(ctx, p)
	if err == nil {
		return r, archive, "", c.Cache.keep(p, r, archive)
	}
	if ctx.Err() != nil || !errors.Is(err, ErrUnavailable) {
		return Resolved{}, nil, "", c.safe(ctx, p.url.Host, err)
	}
	r, archive, ok := c.Cache.resolved(p)
	if !ok {
		return Resolved{}, nil, "", c.safe(ctx, p.url.Host, err)
	}
	notice := fmt.Sprintf("%s does not answer (%s); version %s of %q is used, which was resolved before", p.url.Host, c.safe(ctx, p.url.Host, err), r.Version, p.name)
	return r, archive, notice, nil
}

// version is a version in a repository, with its archive's location.
type version struct {
	parsed *semver.Version
	text   string
	// url and digest describe an archive in a repository with an index. The digest can be empty.
	url, digest string
}

// ask resolves and downloads a version from the repository.
func (c *Client) ask(ctx context.Context, p place) (Resolved, []byte, error) {
	v, err := c.resolve(ctx, p)
	if err != nil {
		return Resolved{}, nil, err
	}
	r := Resolved{Repository: p.url.String(), Name: p.name, Version: v.text, Digest: v.digest}
	if c.Cache != nil && v.digest != "" {
		if archive, ok := c.Cache.read(v.digest); ok {
			return r, archive, nil
		}
	}
	var archive []byte
	if p.url.Scheme == "oci" {
		archive, err = c.pull(ctx, p, v)
	} else {
		archive, err = c.get(ctx, v.url, p.url.Host, MaxArchive, "the chart")
	}
	if err != nil {
		return Resolved{}, nil, err
	}
	actual := digestOf(archive)
	if v.digest != "" && v.digest != actual {
		return Resolved{}, nil, fmt.Errorf("the archive has the digest %s, and %s was announced", actual, v.digest)
	}
	r.Digest = actual
	return r, archive, nil
}

// resolve finds the newest version that matches the request.
func (c *Client) resolve(ctx context.Context, p place) (version, error) {
	if exact, err := semver.StrictNewVersion(p.requested); err == nil && p.url.Scheme == "oci" {
		return version{parsed: exact, text: p.requested}, nil
	}
	all, err := c.versions(ctx, p)
	if err != nil {
		return version{}, err
	}
	constraint, err := semver.NewConstraint(cmp.Or(p.requested, "*"))
	if err != nil {
		return version{}, err
	}
	for _, v := range all {
		if constraint.Check(v.parsed) || v.text == p.requested {
			return v, nil
		}
	}
	if len(all) == 0 {
		return version{}, fmt.Errorf("the repository has no chart %q", p.name)
	}
	return version{}, fmt.Errorf("the repository has no version %s of it; the newest is %s", cmp.Or(p.requested, "*"), all[0].text)
}

func (c *Client) versions(ctx context.Context, p place) ([]version, error) {
	if p.url.Scheme == "oci" {
		return c.tags(ctx, p)
	}
	return c.index(ctx, p)
}

// ErrUnavailable means that a repository did not answer, or not as expected. Retrying may help.
var ErrUnavailable = errors.New("the repository does not answer")

// ErrCredential means that a registry needs a credential, or another one.
var ErrCredential = errors.New("the credential for the registry is missing, or not enough")

// scrubbed is an external error without credentials, of which one cause is known.
type scrubbed struct {
	text  string
	cause error
}

// Error returns the text.
func (e *scrubbed) Error() string { return e.text }

// Unwrap returns the cause.
func (e *scrubbed) Unwrap() error { return e.cause }

// safe removes credentials from an external error, since hosts may repeat them. A canceled context, [ErrUnavailable] and [ErrCredential]
// stay recognizable.
func (c *Client) safe(ctx context.Context, host string, err error) error {
	var known Credential
	if c.Credential != nil {
		known, _ = c.Credential(ctx, host) // a missing credential is reported elsewhere
	}
	text := secret.Scrub(err.Error(), known.Password, known.basic())
	for _, cause := range []error{context.Canceled, context.DeadlineExceeded} {
		if errors.Is(err, cause) {
			return fmt.Errorf("%s: %w", text, cause)
		}
	}
	for _, cause := range []error{ErrUnavailable, ErrCredential} {
		if errors.Is(err, cause) {
			return &scrubbed{text, cause}
		}
	}
	return errors.New(text)
}

// readAll reads an answer up to a limit. A larger one is refused, with its size if known.
func readAll(r io.Reader, announced, limit int64, what string) ([]byte, error) {
	if announced > limit {
		return nil, fmt.Errorf("%s has %d bytes, more than the %d that are fetched", what, announced, limit)
	}
	content, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	if int64(len(content)) > limit {
		return nil, fmt.Errorf("%s has more than the %d bytes that are fetched", what, limit)
	}
	return content, nil
}

func digestOf(content []byte) string {
	sum := sha256.Sum256(content)
	return "sha256:" + hex.EncodeToString(sum[:])
}

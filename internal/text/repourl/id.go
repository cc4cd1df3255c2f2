// Package repourl gives all spellings of a repository's URL one form.
//
// Two URLs are the same repository if host and path are equal: it does not matter whether the protocol is https, http or ssh, which
// user is named, how the host is capitalized, and whether ".git" or slashes follow. [Parse] identifies a repository on a host, and
// [Clean] returns the one spelling that is stored and compared, also of folders and other addresses. Nothing else compares URLs.
package repourl

import (
	"errors"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"
	"unicode"
)

// ID identifies a repository, independent of the spelling of its URL.
type ID struct {
	// Host is in lower case, with the port unless it is the default.
	Host string
	// Path is "owner/name", "group/subgroup/name" or "organization/project/name".
	Path string
}

// Owner returns the path without the name: an account, a group with its parents, or an organization and project.
func (id ID) Owner() string {
	owner, _ := path.Split(id.Path)
	return strings.TrimSuffix(owner, "/")
}

// Name returns the last segment of the path.
func (id ID) Name() string { return path.Base(id.Path) }

// String returns "host/path".
func (id ID) String() string { return id.Host + "/" + id.Path }

// Parse parses the URL of a repository: https, http or ssh, or the form [user@]host:path, and returns its scheme, too.
// The many URLs of a repository at Azure DevOps become "dev.azure.com" and "organization/project/name".
// The port of an ssh URL is dropped, because the ssh server of a forge may use any port.
//
// Errors are [ErrInvalid] with a reason, and do not contain the URL, which may hold a password.
func Parse(raw string) (ID, string, error) {
	u, err := split(raw)
	if err != nil {
		return ID{}, "", err
	}
	id := ID{Host: TrimPort(u.Scheme, strings.ToLower(u.Host))}
	if u.Scheme == "ssh" {
		id.Host = strings.ToLower(u.Hostname())
	}
	if alias, ok := sshHosts[id.Host]; ok && u.Scheme == "ssh" {
		id.Host = alias
	}
	segments := strings.FieldsFunc(u.Path, func(r rune) bool { return r == '/' })
	if slices.Contains(segments, "..") || slices.Contains(segments, ".") || len(segments) == 0 || !isHost(id.Host) {
		return ID{}, "", errNoRepository
	}
	last := len(segments) - 1
	segments[last] = strings.TrimSuffix(segments[last], ".git")
	id.Host, segments = azureSpelling(id.Host, segments)
	if len(segments) == 0 || slices.Contains(segments, "") || id.Host == azure && (len(segments) != 3 || slices.Contains(segments, "_git")) {
		return ID{}, "", errNoRepository
	}
	id.Path = strings.Join(segments, "/")
	return id, u.Scheme, nil
}

// isHost reports whether a text may be a host with a port. Others would be something else in the URL of the repository.
func isHost(text string) bool {
	return text != "" && !strings.ContainsAny(text, `#?@/\"'<>{}|^`+"`")
}

// ErrInvalid is wrapped by the errors of [Parse].
var ErrInvalid = errors.New("invalid repository URL")

var errNoRepository = fmt.Errorf("%w: it names no repository on a host", ErrInvalid)

// sshHosts are hosts of public forges that serve ssh on port 443.
var sshHosts = map[string]string{"ssh.github.com": "github.com", "altssh.gitlab.com": "gitlab.com", "altssh.bitbucket.org": "bitbucket.org"}

// usualPorts are the default ports by scheme.
var usualPorts = map[string]string{"http": "80", "https": "443", "ssh": "22"}

// TrimPort removes the default port of https, http or ssh from a host.
func TrimPort(scheme, host string) string {
	if port, ok := usualPorts[scheme]; ok {
		return strings.TrimSuffix(host, ":"+port)
	}
	return host
}

// split parses a full URL, or the form [user@]host:path.
func split(raw string) (*url.URL, error) {
	if strings.ContainsFunc(raw, func(r rune) bool { return r <= ' ' || r == 0x7f || unicode.IsSpace(r) }) {
		return nil, fmt.Errorf("%w: it contains spaces or control characters", ErrInvalid)
	}
	if !strings.Contains(raw, "://") {
		host, rest, found := strings.Cut(raw, ":")
		if !found || strings.Contains(host, "/") {
			return nil, fmt.Errorf("%w: it has neither a scheme nor a host", ErrInvalid)
		}
		return &url.URL{Scheme: "ssh", Host: host[strings.LastIndex(host, "@")+1:], Path: rest}, nil
	}
	u, err := url.Parse(raw)
	if err != nil {
		return nil, fmt.Errorf("%w: it does not parse", ErrInvalid)
	}
	if usualPorts[u.Scheme] == "" {
		return nil, fmt.Errorf("%w: its scheme is none of https, http and ssh", ErrInvalid)
	}
	return u, nil
}

const azure = "dev.azure.com"

// azureSpelling normalizes the URLs of a repository at Azure DevOps:
//
//	https://dev.azure.com/org/project/_git/name     https://org.visualstudio.com/project/_git/name
//	git@ssh.dev.azure.com:v3/org/project/name       org@vs-ssh.visualstudio.com:v3/org/project/name
//
// The URL of a repository named like its project may omit the project.
func azureSpelling(host string, segments []string) (string, []string) {
	organization, old := strings.CutSuffix(host, ".visualstudio.com")
	switch {
	case host == "ssh.dev.azure.com" || host == "vs-ssh.visualstudio.com":
		if segments[0] == "v3" {
			segments = segments[1:]
		}
		host = azure
	case old:
		if strings.EqualFold(segments[0], "DefaultCollection") {
			segments = segments[1:]
		}
		host, segments = azure, slices.Concat([]string{organization}, segments)
	}
	if i := slices.Index(segments, "_git"); i > 0 && i == len(segments)-2 {
		name := segments[i+1]
		segments = slices.Concat(segments[:i], segments[i+1:])
		if host == azure && len(segments) == 2 {
			segments = append(segments, name)
		}
	}
	return host, segments
}

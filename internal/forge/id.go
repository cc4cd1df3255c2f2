package forge

import (
	"net/url"
	"path"
	"slices"
	"strings"
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

// ParseID parses the URL of a repository: https, http or ssh, or the form [user@]host:path.
// The many URLs of a repository at Azure DevOps become "dev.azure.com" and "organization/project/name".
func ParseID(raw string) (ID, error) {
	id, _, err := parseURL(raw)
	return id, err
}

// parseURL also returns the scheme. It drops the port of an ssh URL, because the ssh server of a forge may use any port.
func parseURL(raw string) (ID, string, error) {
	u, err := splitURL(raw)
	if err != nil {
		return ID{}, "", err
	}
	id := ID{Host: strings.ToLower(u.Host)}
	if u.Scheme == "ssh" || u.Port() == usualPorts[u.Scheme] {
		id.Host = strings.ToLower(u.Hostname())
	}
	if alias, ok := sshHosts[id.Host]; ok && u.Scheme == "ssh" {
		id.Host = alias
	}
	segments := strings.FieldsFunc(u.Path, func(r rune) bool { return r == '/' })
	if slices.Contains(segments, "..") || slices.Contains(segments, ".") || len(segments) == 0 || id.Host == "" {
		return ID{}, "", invalidURL(raw, "it names no repository on a host")
	}
	last := len(segments) - 1
	segments[last] = strings.TrimSuffix(segments[last], ".git")
	id.Host, segments = azureSpelling(id.Host, segments)
	if len(segments) == 0 || slices.Contains(segments, "") || id.Host == azure && len(segments) < 3 {
		return ID{}, "", invalidURL(raw, "it names no repository on a host")
	}
	id.Path = strings.Join(segments, "/")
	return id, u.Scheme, nil
}

// sshHosts are hosts of public forges that serve ssh on port 443.
var sshHosts = map[string]string{"ssh.github.com": "github.com", "altssh.gitlab.com": "gitlab.com"}

// usualPorts are the default ports by scheme.
var usualPorts = map[string]string{"http": "80", "https": "443", "ssh": "22"}

// splitURL parses a full URL, or the form [user@]host:path.
func splitURL(raw string) (*url.URL, error) {
	if strings.ContainsFunc(raw, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
		return nil, invalidURL(raw, "it contains spaces or control characters")
	}
	if !strings.Contains(raw, "://") {
		host, rest, found := strings.Cut(raw, ":")
		if !found || strings.Contains(host, "/") {
			return nil, invalidURL(raw, "it has neither a scheme nor a host")
		}
		return &url.URL{Scheme: "ssh", Host: host[strings.LastIndex(host, "@")+1:], Path: rest}, nil
	}
	u, err := url.Parse(raw)
	if err != nil {
		return nil, invalidURL(raw, "it does not parse")
	}
	if usualPorts[u.Scheme] == "" {
		return nil, invalidURL(raw, "its scheme is none of https, http and ssh")
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

func invalidURL(raw, why string) error {
	return &Error{
		Kind: ErrInvalid, Op: "parse repository URL", Where: redact(raw), Detail: why,
		Hint: "write https://host/owner/name or git@host:owner/name",
	}
}

package git

import (
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/kalypso-io/kalypso/internal/text/repourl"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// location is a parsed repository URL.
type location struct {
	// scheme is "file", "http", "https" or "ssh".
	scheme string
	// user and password are those in the URL.
	user     string
	password Secret
	// host is in lower case, without port. Empty for files.
	host string
	port int // 0: the default
	// path is the absolute folder for files, else the path on the host in the server's spelling.
	path string
}

// The default ports, which a URL can omit.
var usualPort = map[string]int{"http": 80, "https": 443, "ssh": 22}

// parseLocation parses a repository URL, or a path.
func parseLocation(raw string) (location, error) {
	if raw == "" {
		return location{}, invalidURL(raw, "it is empty")
	}
	if strings.ContainsFunc(raw, isControl) {
		return location{}, invalidURL(raw, "it contains control characters")
	}
	if strings.Contains(raw, "://") {
		return parseFullURL(raw)
	}
	if scheme, rest, found := strings.Cut(raw, ":/"); found && usualPort[strings.ToLower(scheme)] != 0 {
		return location{}, invalidURL(scheme+"://"+rest, "it has one slash behind the scheme, not two")
	}
	if hasPassword(raw) {
		return location{}, invalidURL(raw, "host:path takes a user and no password")
	}
	if l, ok := parseHostPath(raw); ok {
		return l, nil
	}
	path, err := filepath.Abs(raw)
	if err != nil {
		return location{}, invalidURL(raw, "the current folder is unknown")
	}
	return location{scheme: "file", path: path}, nil
}

func isControl(r rune) bool { return r < ' ' || r == 0x7f }

// hasPassword recognizes user:password@host:path, which no program supports but users write.
func hasPassword(raw string) bool {
	before, _, found := strings.Cut(raw, "@")
	user, _, colon := strings.Cut(before, ":")
	return found && colon && !strings.Contains(before, "/") && !strings.ContainsAny(user, " \t")
}

func parseFullURL(raw string) (location, error) {
	u, err := url.Parse(raw)
	if err != nil {
		return location{}, invalidURL(raw, "it does not parse")
	}
	l := location{scheme: strings.ToLower(u.Scheme), host: strings.ToLower(u.Hostname()), path: u.Path}
	l.user = u.User.Username()
	password, _ := u.User.Password()
	l.password = NewSecret(password)
	if port := u.Port(); port != "" {
		if l.port, err = strconv.Atoi(port); err != nil || l.port < 1 || l.port > 65535 {
			return location{}, invalidURL(raw, "its port is not a number between 1 and 65535")
		}
	}
	switch {
	case strings.ContainsFunc(l.user+password+l.host+l.path, isControl):
		// Escaped, as %0a: a new line would start another field in the question to a credential helper.
		return location{}, invalidURL(raw, "it contains escaped control characters")
	case u.RawQuery != "" || u.Fragment != "":
		return location{}, invalidURL(raw, "a repository URL has no query and no fragment")
	case l.scheme == "file":
		return fileLocation(raw, l)
	case usualPort[l.scheme] == 0:
		return location{}, invalidURL(raw, "its scheme is none of https, http, ssh and file")
	case !isHost(l.host):
		return location{}, invalidURL(raw, "it names no host")
	case strings.Trim(l.path, "/") == "":
		return location{}, invalidURL(raw, "it names no repository on the host")
	}
	if l.port == usualPort[l.scheme] {
		l.port = 0
	}
	return l, nil
}

func fileLocation(raw string, l location) (location, error) {
	if l.host != "" && l.host != "localhost" {
		return location{}, invalidURL(raw, "a file URL has three slashes, file:///folder, and no host")
	}
	if l.path == "" {
		return location{}, invalidURL(raw, "it names no folder")
	}
	return location{scheme: "file", path: filepath.Clean(filepath.FromSlash(l.path))}, nil
}

// parseHostPath parses the ssh form [user@]host:path. As in git, an existing local path takes precedence,
// and a colon after a slash is part of a path.
func parseHostPath(raw string) (location, bool) {
	host, path, found := strings.Cut(raw, ":")
	if !found || host == "" || strings.Trim(path, "/") == "" || strings.ContainsAny(host, `/\`) || filepath.VolumeName(raw) != "" {
		return location{}, false
	}
	if _, err := os.Lstat(raw); err == nil {
		return location{}, false
	}
	l := location{scheme: "ssh", host: strings.ToLower(host), path: path}
	if i := strings.LastIndex(host, "@"); i >= 0 {
		l.user, l.host = host[:i], strings.ToLower(host[i+1:])
	}
	return l, isHost(l.host) && !strings.Contains(l.host, ":")
}

// isHost reports whether a name is a valid host. A leading dash would be an option to a program.
func isHost(name string) bool {
	if strings.Contains(name, ":") {
		return net.ParseIP(name) != nil
	}
	return name != "" && name[0] != '-' && !strings.ContainsFunc(name, func(r rune) bool {
		return r < 0x80 && !strings.ContainsRune("abcdefghijklmnopqrstuvwxyz0123456789.-_", r)
	})
}

// invalidURL returns an error that hides possible passwords. It cannot parse the URL, so it removes all up to the last "@".
func invalidURL(raw, why string) error {
	if scheme, rest, found := strings.Cut(raw, "://"); found {
		raw = scheme + "://" + rest[strings.LastIndex(rest, "@")+1:]
	}
	return &Error{
		Kind: ErrInvalid, Op: "parse repository URL", Where: secret.Scrub(raw), Detail: why,
		Hint: "write a folder, https://host/path, ssh://git@host/path or git@host:path",
	}
}

// local reports whether the repository is on this machine's file system.
func (l location) local() bool { return l.scheme == "file" }

// hostPort returns the host that credentials are bound to: with the port unless it is the default.
func (l location) hostPort() string {
	if l.port == 0 {
		if strings.Contains(l.host, ":") {
			return "[" + l.host + "]"
		}
		return l.host
	}
	return net.JoinHostPort(l.host, strconv.Itoa(l.port))
}

// loopback reports whether the host is this machine.
func (l location) loopback() bool {
	ip := net.ParseIP(l.host)
	return l.host == "localhost" || (ip != nil && ip.IsLoopback())
}

// String returns the URL without credentials.
func (l location) String() string {
	if l.local() {
		return l.path
	}
	u := url.URL{Scheme: l.scheme, Host: l.hostPort(), Path: "/" + strings.TrimPrefix(l.path, "/")}
	if l.scheme == "ssh" && l.user != "" {
		u.User = url.User(l.user)
	}
	return u.String()
}

// key returns what all spellings of a repository's URL have in common: host and path, or the local path.
// https or ssh, the user, a trailing ".git" and slashes do not matter,
// because a clone by ssh and a document with an https URL mean the same repository.
func (l location) key() string {
	path := strings.Trim(filepath.ToSlash(l.path), "/")
	path = strings.TrimRight(strings.TrimSuffix(path, ".git"), "/")
	if l.local() {
		return "/" + path
	}
	return l.hostPort() + "/" + path
}

// SameRepository reports whether two URLs mean the same repository: host and path are equal. The case of the host,
// the scheme, the user, a trailing ".git" and slashes do not matter. Local paths are compared as absolute paths.
func SameRepository(a, b string) bool {
	la, errA := parseLocation(a)
	lb, errB := parseLocation(b)
	return errA == nil && errB == nil && repourl.Same(la.String(), lb.String())
}

package forge

import (
	"net"
	"net/url"
	"strings"

	"github.com/kalypso-io/kalypso/internal/text/repourl"
)

// Site is the address of a forge.
type Site struct {
	// Scheme is "https" or "http".
	Scheme string
	// Host is in lower case, with the port unless it is the default.
	Host string
	// Prefix is the path of the forge without slashes at its ends; usually empty.
	Prefix string
}

// ParseSite reads the URL of a forge: "https://git.example.com", "https://example.com/gitea".
func ParseSite(raw string) (Site, error) {
	u, err := url.Parse(raw)
	if err != nil || (u.Scheme != "https" && u.Scheme != "http") || u.Host == "" || u.RawQuery != "" || u.Fragment != "" {
		return Site{}, &Error{
			Kind: ErrInvalid, Op: "parse forge URL", Where: redact(raw),
			Detail: "it is not of the form https://host", Hint: "write https://host, or https://host/folder",
		}
	}
	s := Site{Scheme: u.Scheme, Host: strings.ToLower(u.Host), Prefix: strings.Trim(u.Path, "/")}
	s.Host = repourl.TrimPort(s.Scheme, s.Host)
	return s, nil
}

// URL returns the URL without a slash at its end.
func (s Site) URL() string { return strings.TrimSuffix(s.Scheme+"://"+s.Host+"/"+s.Prefix, "/") }

// Repository returns the repository of a URL. The error is [ErrInvalid] if the URL is not on this site.
func (s Site) Repository(raw string) (ID, error) {
	id, scheme, err := parseURL(raw)
	if err != nil {
		return ID{}, err
	}
	if id.Host != s.Host && (scheme != "ssh" || id.Host != hostname(s.Host)) {
		return ID{}, s.elsewhere(raw)
	}
	id.Host = s.Host
	if rest, below := strings.CutPrefix(id.Path, s.Prefix+"/"); s.Prefix != "" && below {
		id.Path = rest
	} else if s.Prefix != "" && scheme != "ssh" {
		return ID{}, s.elsewhere(raw)
	}
	return id, nil
}

func (s Site) elsewhere(raw string) error {
	return &Error{
		Kind: ErrInvalid, Op: "find repository", Where: redact(raw), Detail: "it is not on " + s.URL(),
		Hint: "configure the forge that hosts it",
	}
}

func hostname(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		return name
	}
	return host
}

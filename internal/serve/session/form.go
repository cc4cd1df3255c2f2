package session

import (
	"errors"
	"net/http"
	"net/url"
	"path"
	"strings"

	"github.com/kalypso-io/kalypso/internal/serve/access"
)

// FormField is the name of the form field with the token.
const FormField = "csrf"

// FormToken returns the token for forms of the request's session; empty without a session.
func (s *Sessions) FormToken(r *http.Request) string {
	if v := s.current(r); v != nil {
		return derived(v.ID, "form")
	}
	return ""
}

// CheckForm returns an [access.Refusal] if a form does not belong to the request's session, or comes from another site, and an
// [http.MaxBytesError] if it is larger than the limit of its body.
func (s *Sessions) CheckForm(r *http.Request) error {
	if err := s.fromHere(r); err != nil {
		return err
	}
	var tooLarge *http.MaxBytesError
	if errors.As(r.ParseForm(), &tooLarge) {
		return tooLarge
	}
	if !same(s.FormToken(r), r.PostFormValue(FormField)) {
		return &access.Refusal{
			Kind: access.ErrForbidden, What: "the form belongs to another session", Next: "sign in, reload the page and try again",
		}
	}
	return nil
}

// fromHere refuses requests from pages of other sites.
func (s *Sessions) fromHere(r *http.Request) error {
	if s.browser.Check(r) != nil {
		return &access.Refusal{
			Kind: access.ErrForbidden, What: "the request comes from a page of another site", Next: "use a page of this server",
		}
	}
	return nil
}

// maxTarget limits the path to return to after signing in, in bytes.
const maxTarget = 2048

// local returns a path of this server to return to; "/" for other addresses, and for the sign-in pages.
func local(to string) string {
	u, err := url.Parse(to)
	switch {
	case err != nil || len(to) > maxTarget || u.Scheme != "" || u.Host != "" || u.User != nil || u.Opaque != "",
		!strings.HasPrefix(to, "/"), strings.Contains(to, `\`), !plain(u.Path),
		strings.HasPrefix(u.Path, "/-/sign-"), strings.ContainsFunc(u.Path, func(r rune) bool { return r < ' ' || r == 0x7f || r == '\\' }):
		return "/"
	}
	return to
}

// plain reports whether a path has no segments that browsers resolve, such as "..".
func plain(p string) bool {
	clean := path.Clean(p)
	return clean == p || clean != "/" && clean+"/" == p
}

// isRefusal returns the refusal in an error.
func isRefusal(err error) (*access.Refusal, bool) {
	var r *access.Refusal
	ok := errors.As(err, &r)
	return r, ok
}

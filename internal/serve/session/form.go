package session

import (
	"errors"
	"net/http"
	"net/url"
	"path"
	"strings"

	"github.com/kalypso-io/kalypso/internal/serve/access"
)

// FormField is the field of forms that has their token.
const FormField = "csrf"

// FormToken is what the forms of a request's session carry; empty where nobody is signed in.
func (s *Sessions) FormToken(r *http.Request) string {
	if v := s.current(r); v != nil {
		return derived(v.ID, "form")
	}
	return ""
}

// CheckForm refuses a form that is not of the request's own session, or that comes from another site.
// The error is an [access.Refusal].
func (s *Sessions) CheckForm(r *http.Request) error {
	if err := s.fromHere(r); err != nil {
		return err
	}
	if !same(s.FormToken(r), r.PostFormValue(FormField)) {
		return &access.Refusal{
			Kind: access.ErrForbidden, What: "the form is not of your session", Next: "sign in, load the page again and repeat",
		}
	}
	return nil
}

// fromHere refuses what a page of another site asks for.
func (s *Sessions) fromHere(r *http.Request) error {
	if s.browser.Check(r) != nil {
		return &access.Refusal{
			Kind: access.ErrForbidden, What: "a page of another site asks for this", Next: "ask from a page of this server",
		}
	}
	return nil
}

// maxTarget bounds where to go after signing in, in bytes.
const maxTarget = 2048

// local is a path of this server to go to. What leads elsewhere, or to signing in again, leads to the first page.
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

// plain reports whether a path means what it says, to this server and to every browser.
func plain(p string) bool {
	clean := path.Clean(p)
	return clean == p || clean != "/" && clean+"/" == p
}

// isRefusal reports whether an error has words for who asks.
func isRefusal(err error) (*access.Refusal, bool) {
	var r *access.Refusal
	ok := errors.As(err, &r)
	return r, ok
}

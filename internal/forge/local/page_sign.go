package local

import (
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/kalypso-io/kalypso/internal/forge"
)

// signInData is the page to sign in.
type signInData struct {
	// To is where to redirect afterwards.
	To      string
	Refused bool
}

func (p *pages) signInPage(r *request) error {
	to := p.ours(r.FormValue("to"))
	r.frame.Here = to
	return p.render(r, http.StatusOK, "signin", "Sign in", signInData{To: to})
}

func (p *pages) signInForm(r *request) error {
	to := p.ours(r.PostFormValue("to"))
	err := p.signIn(r.Context(), r.w, forge.NewSecret(strings.TrimSpace(r.PostFormValue("token"))))
	if errors.Is(err, forge.ErrDenied) {
		return p.render(r, http.StatusForbidden, "signin", "Sign in", signInData{to, true})
	}
	if err != nil {
		return err
	}
	return p.back(r, to)
}

func (p *pages) signOutForm(r *request) error {
	if err := p.signOut(r.w, r.Request); err != nil {
		return err
	}
	return p.back(r, p.base()+"/")
}

// ours returns an address if it is on this forge, and the front page otherwise.
func (p *pages) ours(to string) string {
	u, err := url.Parse(to)
	if err != nil || u.Host != "" || u.Scheme != "" || !strings.HasPrefix(to, p.base()+"/") ||
		strings.HasPrefix(to, "//") || strings.ContainsAny(to, "\\\r\n") {
		return p.base() + "/"
	}
	return to
}

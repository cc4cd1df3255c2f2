package local

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/kalypso-io/kalypso/internal/forge"
)

// Handler serves git and the pages below the path of [Options.URL]. It answers 404 for other paths.
func (f *Forge) Handler() http.Handler {
	git, pages := gitHandler{f}, newPages(f)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if path, ours := strings.CutPrefix(r.URL.Path, f.base()); ours {
			if repository, service, ok := gitPath(path); ok {
				git.serve(w, r, repository, service)
				return
			}
		}
		pages.ServeHTTP(w, r)
	})
}

// base returns the prefix of every path: empty, or "/git".
func (in *installation) base() string {
	if in.site.Prefix == "" {
		return ""
	}
	return "/" + in.site.Prefix
}

// public reports whether the client of a request can read without a token.
func (in *installation) public(r *http.Request) bool { return in.PublicRead != nil && in.PublicRead(r) }

// visitor returns the account behind a git request: the owner of its token, or none.
// The token is the password of basic authentication, with any user name, or a bearer token.
func (f *Forge) visitor(ctx context.Context, r *http.Request) (Account, bool, error) {
	secret, shown := forge.NewSecret(""), false
	if _, password, ok := r.BasicAuth(); ok {
		secret, shown = forge.NewSecret(password), true
	} else if bearer, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok {
		secret, shown = forge.NewSecret(bearer), true
	}
	if !shown {
		return Account{}, false, nil
	}
	token, err := f.Authenticate(ctx, secret)
	if errors.Is(err, forge.ErrDenied) {
		return Account{}, false, nil
	}
	return token.Account, err == nil, err
}

// statusOf returns the HTTP status for a kind of error.
func statusOf(err error) int {
	switch {
	case errors.Is(err, forge.ErrNotFound):
		return http.StatusNotFound
	case errors.Is(err, forge.ErrDenied):
		return http.StatusForbidden
	case errors.Is(err, forge.ErrConflict):
		return http.StatusConflict
	case errors.Is(err, forge.ErrInvalid):
		return http.StatusUnprocessableEntity
	}
	return http.StatusServiceUnavailable
}

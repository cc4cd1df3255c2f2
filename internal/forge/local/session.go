package local

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"net/http"
	"time"

	"github.com/kalypso-io/kalypso/internal/forge"
)

const (
	sessionCookie = "kalypso_forge"
	sessionLength = 7 * 24 * time.Hour
)

// signIn starts a session for the owner of a token. The browser gets a separate secret, so that the token itself
// is not stored anywhere.
func (f *Forge) signIn(ctx context.Context, w http.ResponseWriter, token forge.Secret) error {
	t, err := f.Authenticate(ctx, token)
	if err != nil {
		return err
	}
	secret, hash := newSecret("")
	expires := f.now().Add(sessionLength)
	if err := execute(ctx, f.db, "insertSession", hash, t.ID, microseconds(expires)); err != nil {
		return err
	}
	http.SetCookie(w, f.cookie(secret.Reveal(), int(sessionLength/time.Second)))
	return nil
}

// signOut ends a request's session, and deletes all expired ones.
func (f *Forge) signOut(w http.ResponseWriter, r *http.Request) error {
	cookie, err := r.Cookie(sessionCookie)
	if err != nil {
		return nil //nolint:nilerr // not signed in
	}
	http.SetCookie(w, f.cookie("", -1))
	err = execute(r.Context(), f.db, "deleteSession", hashOf(forge.NewSecret(cookie.Value)), microseconds(f.now()))
	return err
}

// cookie returns a cookie for this forge only. Links from other sites open pages as the signed-in user;
// forms from other sites are rejected by their missing csrf token.
func (f *Forge) cookie(value string, age int) *http.Cookie {
	return &http.Cookie{
		Name: sessionCookie, Value: value, Path: "/" + f.site.Prefix, MaxAge: age,
		HttpOnly: true, Secure: f.site.Scheme == "https", SameSite: http.SameSiteLaxMode,
	}
}

// visit is the visitor of a page.
type visit struct {
	account Account
	// csrf is the token for forms of this session. Empty if the visitor is not signed in.
	csrf string
}

func (v visit) signedIn() bool { return v.csrf != "" }

// visitOf returns the visitor behind a browser's request.
func (f *Forge) visitOf(r *http.Request) (visit, error) {
	if f.Visitor != nil {
		a, form, err := f.Visitor(r)
		return visit{a, form}, err
	}
	cookie, err := r.Cookie(sessionCookie)
	if err != nil || cookie.Value == "" {
		return visit{}, nil //nolint:nilerr // not signed in
	}
	var a Account
	err = row(r.Context(), f.db, "selectSession", hashOf(forge.NewSecret(cookie.Value)), microseconds(f.now())).
		Scan(&a.Name, &a.Right, &a.Below)
	if errors.Is(err, sql.ErrNoRows) {
		return visit{}, nil
	}
	return visit{a, formToken(cookie.Value)}, err
}

// formToken returns the csrf token of a session. It is derived from the session's secret, which other sites do not know,
// and does not reveal it.
func formToken(session string) string {
	mac := hmac.New(sha256.New, []byte(session))
	mac.Write([]byte("forms"))
	return hex.EncodeToString(mac.Sum(nil))
}

// sentByUs reports whether a form carries this session's csrf token.
func (v visit) sentByUs(r *http.Request) bool {
	return v.signedIn() && hmac.Equal([]byte(r.PostFormValue("csrf")), []byte(v.csrf))
}

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

const (
	insertSession = `INSERT INTO session (hash, token, expires_at) VALUES (?, ?, ?)`
	deleteSession = `DELETE FROM session WHERE hash = ? OR expires_at < ?`
	selectSession = `SELECT account, rights, below FROM session JOIN token ON token.id = session.token
		WHERE session.hash = ? AND expires_at > ? AND revoked_at = 0`
)

// signIn starts a session for the owner of a token. The browser gets a secret of its own, so that the token itself
// is nowhere kept.
func (f *Forge) signIn(ctx context.Context, w http.ResponseWriter, token forge.Secret) error {
	t, err := f.Authenticate(ctx, token)
	if err != nil {
		return err
	}
	secret, hash := newSecret("")
	expires := f.now().Add(sessionLength)
	if _, err := f.db.ExecContext(ctx, insertSession, hash, t.ID, microseconds(expires)); err != nil {
		return err
	}
	http.SetCookie(w, f.cookie(secret.Reveal(), int(sessionLength/time.Second)))
	return nil
}

// signOut ends the session of a request, and all that are over.
func (f *Forge) signOut(w http.ResponseWriter, r *http.Request) error {
	cookie, err := r.Cookie(sessionCookie)
	if err != nil {
		return nil //nolint:nilerr // nobody is signed in
	}
	http.SetCookie(w, f.cookie("", -1))
	_, err = f.db.ExecContext(r.Context(), deleteSession, hashOf(forge.NewSecret(cookie.Value)), microseconds(f.now()))
	return err
}

// cookie is for this forge only. Following a link from elsewhere shows the page as who one is;
// acting from elsewhere is refused by the forms' own token.
func (f *Forge) cookie(value string, age int) *http.Cookie {
	return &http.Cookie{
		Name: sessionCookie, Value: value, Path: "/" + f.site.Prefix, MaxAge: age,
		HttpOnly: true, Secure: f.site.Scheme == "https", SameSite: http.SameSiteLaxMode,
	}
}

// visit is who looks at a page.
type visit struct {
	account Account
	// csrf is what forms of this session carry; empty when nobody is signed in.
	csrf string
}

func (v visit) signedIn() bool { return v.csrf != "" }

// visitOf returns who sends a request of a browser.
func (f *Forge) visitOf(r *http.Request) (visit, error) {
	if f.Visitor != nil {
		a, form, err := f.Visitor(r)
		return visit{a, form}, err
	}
	cookie, err := r.Cookie(sessionCookie)
	if err != nil || cookie.Value == "" {
		return visit{}, nil //nolint:nilerr // nobody is signed in
	}
	var a Account
	err = f.db.QueryRowContext(r.Context(), selectSession, hashOf(forge.NewSecret(cookie.Value)), microseconds(f.now())).
		Scan(&a.Name, &a.Right, &a.Below)
	if errors.Is(err, sql.ErrNoRows) {
		return visit{}, nil
	}
	return visit{a, formToken(cookie.Value)}, err
}

// formToken is what the forms of a session carry. It follows from the session's secret, which pages of others do not know,
// and does not reveal it.
func formToken(session string) string {
	mac := hmac.New(sha256.New, []byte(session))
	mac.Write([]byte("forms"))
	return hex.EncodeToString(mac.Sum(nil))
}

// sentByUs reports whether a form is one of this session's.
func (v visit) sentByUs(r *http.Request) bool {
	return v.signedIn() && hmac.Equal([]byte(r.PostFormValue("csrf")), []byte(v.csrf))
}

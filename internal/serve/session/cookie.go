package session

import (
	"net/http"
	"time"
)

// The cookies, by what they are for.
const (
	sessionCookie = "session"
	formCookie    = "sign-in"
	flowCookie    = "sign-on"
)

// cookieName is what a cookie is called. With https browsers take it only as one of this very host, for all of it.
func (s *Sessions) cookieName(kind string) string {
	if s.secure {
		return "__Host-kalypso-" + kind
	}
	return "kalypso-" + kind + "-" + s.seals.mark
}

// setSealed gives the browser something to keep for a while.
func (s *Sessions) setSealed(w http.ResponseWriter, kind, purpose string, v any, lasting time.Duration) error {
	text, err := s.seals.seal(purpose, v)
	if err != nil {
		return err
	}
	http.SetCookie(w, s.cookie(kind, text, max(1, int(lasting/time.Second))))
	return nil
}

// unsealed reads what the browser kept. It is false where there is nothing, or nothing that this server sealed.
func (s *Sessions) unsealed(r *http.Request, kind, purpose string, v any) bool {
	cookie, err := r.Cookie(s.cookieName(kind))
	return err == nil && s.seals.open(purpose, cookie.Value, v)
}

func (s *Sessions) drop(w http.ResponseWriter, kind string) {
	http.SetCookie(w, s.cookie(kind, "", -1))
}

// cookie comes along when a link leads here from elsewhere, and with nothing else that begins there.
func (s *Sessions) cookie(kind, value string, age int) *http.Cookie {
	return &http.Cookie{
		Name: s.cookieName(kind), Value: value, Path: "/", MaxAge: age,
		HttpOnly: true, Secure: s.secure, SameSite: http.SameSiteLaxMode,
	}
}

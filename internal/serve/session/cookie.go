package session

import (
	"net/http"
	"time"
)

// Names of cookies.
const (
	sessionCookie = "session"
	formCookie    = "sign-in"
	flowCookie    = "sign-on"
)

// cookieName returns the full name of a cookie. With https, the prefix restricts it to this host.
func (s *Sessions) cookieName(kind string) string {
	if s.secure {
		return "__Host-kalypso-" + kind
	}
	return "kalypso-" + kind + "-" + s.seals.mark
}

// setSealed sets a sealed cookie.
func (s *Sessions) setSealed(w http.ResponseWriter, kind, purpose string, v any, lasting time.Duration) error {
	text, err := s.seals.seal(purpose, v)
	if err != nil {
		return err
	}
	http.SetCookie(w, s.cookie(kind, text, max(1, int(lasting/time.Second))))
	return nil
}

// unsealed reads a sealed cookie. It returns false if there is none that this server sealed.
func (s *Sessions) unsealed(r *http.Request, kind, purpose string, v any) bool {
	cookie, err := r.Cookie(s.cookieName(kind))
	return err == nil && s.seals.open(purpose, cookie.Value, v)
}

func (s *Sessions) drop(w http.ResponseWriter, kind string) {
	http.SetCookie(w, s.cookie(kind, "", -1))
}

// cookie returns a cookie that is sent with links from other sites, and no other requests from there.
func (s *Sessions) cookie(kind, value string, age int) *http.Cookie {
	return &http.Cookie{
		Name: s.cookieName(kind), Value: value, Path: "/", MaxAge: age,
		HttpOnly: true, Secure: s.secure, SameSite: http.SameSiteLaxMode,
	}
}

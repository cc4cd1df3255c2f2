package session

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/kalypso-io/kalypso/internal/serve/access"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// Durations of sessions.
const (
	// Idle is the time without a page after which a session ends.
	Idle = 12 * time.Hour
	// Longest is the maximum duration of a session of a token, LongestSignOn of one of an issuer.
	Longest       = 7 * 24 * time.Hour
	LongestSignOn = 12 * time.Hour
	// renewal is the minimum age at which the time in the cookie is updated.
	renewal = 10 * time.Minute
)

// Options configures sessions.
type Options struct {
	// Guard checks tokens. // required
	Guard *access.Guard
	// Key seals cookies. Servers with the same URL must have the same key. // required
	Key secret.Value
	// URL is the public address of the server. With https, cookies are secure. // required
	URL string
	// Log receives sign-ins, sign-outs and errors. // required
	Log *slog.Logger
	// Ledger stores ended sessions for all servers. Optional for a single server.
	Ledger Ledger
	// SignOn is the issuer; its audience is the client ID. Optional.
	SignOn *access.SignOn
	// ClientSecret authenticates this server to the issuer; zero for a public client.
	ClientSecret secret.Value
	// Scopes are requested in addition to openid. Default: profile and email.
	Scopes []string
	// Style is the address of a style sheet. Optional.
	Style string
	// Now returns the time. Default: [time.Now].
	Now func() time.Time
}

// Sessions signs users in and out, and authenticates their requests. It is safe for concurrent use.
type Sessions struct {
	Options
	seals   *sealer
	secure  bool
	browser *http.CrossOriginProtection
	// attempts limits requests to the issuer, by client address.
	attempts access.Limiter
	endings  endings
}

// New validates the options.
func New(o Options) (*Sessions, error) {
	u, err := url.Parse(o.URL)
	switch {
	case o.Guard == nil || o.Log == nil:
		return nil, errors.New("sessions need a guard and a log")
	case o.Key.IsZero():
		return nil, errors.New("sessions need a key")
	case err != nil || u.Host == "":
		return nil, errors.New("sessions need the public URL of the server")
	}
	seals, err := newSealer(o.Key)
	if err != nil {
		return nil, err
	}
	s := &Sessions{Options: o, seals: seals, secure: u.Scheme == "https", browser: http.NewCrossOriginProtection()}
	s.endings.ledger = o.Ledger
	// A proxy may use another host name.
	if err := s.browser.AddTrustedOrigin(u.Scheme + "://" + u.Host); err != nil {
		return nil, err
	}
	s.attempts.Burst, s.attempts.Every = 20, 3*time.Second
	return s, nil
}

func (s *Sessions) now() time.Time {
	if s.Now != nil {
		return s.Now()
	}
	return time.Now()
}

// state is a session, as stored in its cookie.
type state struct {
	ID []byte `json:"id"`
	// Token is the hash of the token.
	Token string `json:"token,omitempty"`
	// Name, Role and Groups are from the issuer, SignOn is the fingerprint of its configuration.
	Name   string      `json:"name,omitempty"`
	Role   access.Role `json:"role,omitempty"`
	Groups []string    `json:"groups,omitempty"`
	// Claimed are more groups from the issuer, for grants that change while the session lasts.
	Claimed []string `json:"claimed,omitempty"`
	SignOn  string   `json:"signOn,omitempty"`
	// Begun is when the user signed in, Seen when the user last loaded a page.
	Begun time.Time `json:"begun"`
	Seen  time.Time `json:"seen"`
	// Ends is when the issuer's token expires, if the user entered one; zero means never.
	Ends time.Time `json:"ends,omitzero"`
}

// name returns the name of a session in the ledger, which does not reveal the cookie.
func (v *state) name() string { return derived(v.ID, "name") }

const sessionPurpose = "session"

// ends returns when a session ends if the user loads no page.
func (v *state) ends() time.Time {
	longest := Longest
	if v.Token == "" {
		longest = LongestSignOn
	}
	end := v.Begun.Add(longest)
	if idle := v.Seen.Add(Idle); idle.Before(end) {
		end = idle
	}
	if !v.Ends.IsZero() && v.Ends.Before(end) {
		end = v.Ends
	}
	return end
}

// current returns the active session of a request; nil if there is none, or if it cannot be checked.
func (s *Sessions) current(r *http.Request) *state {
	v, err := s.find(r)
	if err != nil {
		return nil
	}
	return v
}

// find returns the active session of a request; nil if there is none. The error means that it cannot be checked.
func (s *Sessions) find(r *http.Request) (*state, error) {
	v := &state{}
	if !s.unsealed(r, sessionCookie, sessionPurpose, v) || len(v.ID) == 0 {
		return nil, nil
	}
	now := s.now()
	// Clocks may have been set back a little.
	if !now.Before(v.ends()) || now.Before(v.Begun.Add(-time.Minute)) {
		return nil, nil
	}
	if v.Token == "" && v.SignOn != s.fingerprint() {
		return nil, nil
	}
	if over, err := s.endings.over(r.Context(), v, now); over || err != nil {
		return nil, err
	}
	return v, nil
}

var _ access.Authenticator = (*Sessions)(nil)

// Authenticate implements [access.Authenticator]. An invalid session counts as none.
// The error is [access.ErrUnavailable], or the context's.
func (s *Sessions) Authenticate(r *http.Request) (access.Identity, bool, error) {
	v, err := s.find(r)
	if err != nil {
		return access.Identity{}, false, unavailable(err)
	}
	if v == nil {
		return access.Identity{}, false, nil
	}
	who := access.Identity{Name: v.Name, Role: v.Role, Groups: v.Groups, Claimed: v.Claimed}
	if v.Token != "" {
		if who, err = s.Guard.IdentifyHash(r.Context(), v.Token); err != nil {
			if errors.Is(err, access.ErrUnauthenticated) {
				err = nil
			}
			return access.Identity{}, false, err
		}
	}
	who.Source, who.Expires = access.BySession, v.ends()
	return who, true, nil
}

// begin starts a session and sets its cookie.
func (s *Sessions) begin(w http.ResponseWriter, r *http.Request, v state, who access.Identity) error {
	now := s.now()
	v.ID, v.Begun, v.Seen = newID(), now, now
	if err := s.keep(w, &v); err != nil {
		return err
	}
	s.Log.Info("signed in", "who", who.String(), "role", string(who.Role), "address", access.Address(r))
	return nil
}

func (s *Sessions) keep(w http.ResponseWriter, v *state) error {
	return s.setSealed(w, sessionCookie, sessionPurpose, v, v.ends().Sub(s.now()))
}

// Renew wraps pages: when a user loads one, the session is extended. Automatic updates of pages do not count.
func (s *Sessions) Renew(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if v := s.current(r); v != nil && personal(r) && s.now().Sub(v.Seen) >= renewal {
			v.Seen = s.now()
			if err := s.keep(w, v); err != nil {
				s.Log.Error("renew a session", "error", err)
			}
		}
		next.ServeHTTP(w, r)
	})
}

// personal reports whether a user loads a page.
func personal(r *http.Request) bool {
	if mode := r.Header.Get("Sec-Fetch-Mode"); mode != "" {
		return mode == "navigate"
	}
	return strings.Contains(r.Header.Get("Accept"), "text/html")
}

// finish ends a session. If the ledger fails, it still ends on this server.
func (s *Sessions) finish(r *http.Request, v *state) {
	if err := s.endings.end(r.Context(), v, s.now()); err != nil {
		s.Log.Error("sign out on other servers", "error", err)
	}
}

// unavailable hides the cause from the client.
func unavailable(err error) error {
	return fmt.Errorf("%w: %w", &access.Refusal{
		Kind: access.ErrUnavailable, What: "your session cannot be checked at the moment", Next: "try again", RetryAfter: time.Second,
	}, err)
}

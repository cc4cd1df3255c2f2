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

// How long sessions last.
const (
	// Idle is how long nobody has to load a page until a session ends.
	Idle = 12 * time.Hour
	// Longest is how long a session of a token lasts in any case, and LongestSignOn one of an issuer.
	Longest       = 7 * 24 * time.Hour
	LongestSignOn = 12 * time.Hour
	// renewal is how old the last sign of a person may be in the cookie.
	renewal = 10 * time.Minute
)

// Options are what sessions need.
type Options struct {
	// Guard knows tokens. // required
	Guard *access.Guard
	// Key is what cookies are sealed with: the same on all servers that people reach by one address. // required
	Key secret.Value
	// URL is where people reach the server. With https browsers send cookies in no other way. // required
	URL string
	// Log is told who signed in and out, and why somebody could not. // required
	Log *slog.Logger
	// Ledger is where all servers look who signed out on another one; nil where there is only this one.
	Ledger Ledger
	// SignOn is the issuer that people can sign in with; nil for none. Its audience is the client ID.
	SignOn *access.SignOn
	// ClientSecret is what the issuer wants to see of this server; zero where it knows it as a public client.
	ClientSecret secret.Value
	// Scopes are asked for beside openid; nil for profile and email.
	Scopes []string
	// Style is the address of a style sheet; empty for none.
	Style string
	// Now tells the time; nil for the clock.
	Now func() time.Time
}

// Sessions signs people in and out, and knows who they are. It is safe for concurrent use.
type Sessions struct {
	Options
	seals   *sealer
	secure  bool
	browser *http.CrossOriginProtection
	// attempts bounds how often an address has this server ask the issuer.
	attempts access.Limiter
	endings  endings
}

// New checks the options.
func New(o Options) (*Sessions, error) {
	u, err := url.Parse(o.URL)
	switch {
	case o.Guard == nil || o.Log == nil:
		return nil, errors.New("sessions need a guard and a log")
	case o.Key.IsZero():
		return nil, errors.New("sessions need a key")
	case err != nil || u.Host == "":
		return nil, errors.New("sessions need the URL by which people reach the server")
	}
	seals, err := newSealer(o.Key)
	if err != nil {
		return nil, err
	}
	s := &Sessions{Options: o, seals: seals, secure: u.Scheme == "https", browser: http.NewCrossOriginProtection()}
	s.endings.ledger = o.Ledger
	// Proxies may ask for it by another name than people do.
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

// state is a session, as the cookie has it.
type state struct {
	ID []byte `json:"id"`
	// Token is the hash of the token that was shown.
	Token string `json:"token,omitempty"`
	// Name and Role are what the issuer said, whose configuration has the fingerprint SignOn.
	Name   string      `json:"name,omitempty"`
	Role   access.Role `json:"role,omitempty"`
	SignOn string      `json:"signOn,omitempty"`
	// Begun is when somebody signed in, and Seen when they last loaded a page.
	Begun time.Time `json:"begun"`
	Seen  time.Time `json:"seen"`
	// Ends is when the token of the issuer ends that somebody typed in; zero where nothing ends.
	Ends time.Time `json:"ends,omitzero"`
}

// name is what a session is known by, which says nothing of what is in the cookie.
func (v *state) name() string { return derived(v.ID, "name") }

const sessionPurpose = "session"

// ends is when a session ends if nobody loads a page.
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

// current returns the session that a request shows; nil when it shows none that goes on, or nobody can tell.
func (s *Sessions) current(r *http.Request) *state {
	v, err := s.find(r)
	if err != nil {
		return nil
	}
	return v
}

// find returns the session that a request shows; nil when it shows none that goes on.
// The error is that nobody can tell whether it was signed out.
func (s *Sessions) find(r *http.Request) (*state, error) {
	v := &state{}
	if !s.unsealed(r, sessionCookie, sessionPurpose, v) || len(v.ID) == 0 {
		return nil, nil
	}
	now := s.now()
	// A clock that was set back does not make a session older than it can be.
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

// Authenticate implements [access.Authenticator]. What is no valid session counts as none.
// The error is of kind [access.ErrUnavailable], or a context's own.
func (s *Sessions) Authenticate(r *http.Request) (access.Identity, bool, error) {
	v, err := s.find(r)
	if err != nil {
		return access.Identity{}, false, unavailable(err)
	}
	if v == nil {
		return access.Identity{}, false, nil
	}
	who := access.Identity{Name: v.Name, Role: v.Role}
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

// begin starts a session and gives the browser its cookie.
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

// Renew goes around pages: it remembers that a person was there, so that their session goes on.
// Pages that bring themselves up to date are no person.
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

// personal reports whether a person loads a page.
func personal(r *http.Request) bool {
	if mode := r.Header.Get("Sec-Fetch-Mode"); mode != "" {
		return mode == "navigate"
	}
	return strings.Contains(r.Header.Get("Accept"), "text/html")
}

// finish ends a session. What the ledger does not take is still over on this server, and the browser's cookie goes in any case.
func (s *Sessions) finish(r *http.Request, v *state) {
	if err := s.endings.end(r.Context(), v, s.now()); err != nil {
		s.Log.Error("sign out on other servers", "error", err)
	}
}

// unavailable hides the reason from who asks, who could not do anything about it.
func unavailable(err error) error {
	return fmt.Errorf("%w: %w", &access.Refusal{
		Kind: access.ErrUnavailable, What: "whether you are signed in cannot be checked at the moment", Next: "try again", RetryAfter: time.Second,
	}, err)
}

package session

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/kalypso-io/kalypso/internal/serve/access"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// Paths of the pages.
const (
	SignInPath  = "/-/sign-in"
	SignOutPath = "/-/sign-out"
	signOnPath  = "/-/sign-on"
	donePath    = "/-/sign-on/done"
)

// Handler returns the handler of the pages.
func (s *Sessions) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+SignInPath, s.signInPage)
	mux.HandleFunc("POST "+SignInPath, s.signIn)
	mux.HandleFunc("GET "+SignOutPath, s.signOutPage)
	mux.HandleFunc("POST "+SignOutPath, s.signOut)
	if s.SignOn != nil {
		mux.HandleFunc("GET "+signOnPath, s.signOn)
		mux.HandleFunc("GET "+donePath, s.signedOn)
	}
	return &access.Shield{Next: mux, Log: s.Log}
}

// Register adds the pages to a mux.
func (s *Sessions) Register(mux *http.ServeMux) {
	h := s.Handler()
	for _, path := range []string{SignInPath, SignOutPath, signOnPath, donePath} {
		mux.Handle(path, h)
	}
}

const (
	formPurpose = "form to sign in"
	// formLength is how long a sign-in form is valid.
	formLength = time.Hour
	// maxForm limits a form, in bytes: tokens of issuers can be long.
	maxForm = 32 << 10
)

// formState binds a sign-in form to a browser.
type formState struct {
	ID   []byte    `json:"id"`
	Made time.Time `json:"made"`
}

func (s *Sessions) formOf(r *http.Request) (formState, bool) {
	var f formState
	ok := s.unsealed(r, formCookie, formPurpose, &f) && len(f.ID) > 0
	age := s.now().Sub(f.Made)
	return f, ok && age >= -time.Minute && age < formLength
}

func (s *Sessions) signInPage(w http.ResponseWriter, r *http.Request) {
	v := signInView{To: local(r.URL.Query().Get("to"))}
	if _, err := r.Cookie(s.cookieName(sessionCookie)); err == nil && s.current(r) == nil {
		v.Note = "Your session has ended. Sign in again."
	}
	s.showSignIn(w, r, http.StatusOK, v)
}

// showSignIn shows the sign-in form.
func (s *Sessions) showSignIn(w http.ResponseWriter, r *http.Request, status int, v signInView) {
	f, ok := s.formOf(r)
	if !ok {
		f = formState{ID: newID()}
	}
	f.Made = s.now()
	if err := s.setSealed(w, formCookie, formPurpose, f, formLength); err != nil {
		s.broken(w, err)
		return
	}
	v.Form = derived(f.ID, "sign in")
	if who, ok, err := s.Authenticate(r); ok && err == nil {
		v.Who = who
	}
	if s.SignOn != nil {
		v.SignOn, v.Issuer = signOnPath+"?to="+url.QueryEscape(v.To), hostOf(s.SignOn.Issuer)
	}
	s.show(w, status, "sign-in", "Sign in", v)
}

// signIn starts a session for a token.
func (s *Sessions) signIn(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	v := signInView{To: local(r.PostFormValue("to"))}
	f, ok := s.formOf(r)
	if err := s.fromHere(r); err != nil || !ok || !same(derived(f.ID, "sign in"), r.PostFormValue(FormField)) {
		v.Note = "The form has expired, or your browser does not accept cookies of this server. Try again."
		s.showSignIn(w, r, http.StatusForbidden, v)
		return
	}
	token := secret.New(strings.TrimSpace(r.PostFormValue("token")))
	who, err := s.Guard.IdentifyToken(r.Context(), token, access.Address(r))
	if err == nil {
		err = mayRead(who)
	}
	if err != nil {
		s.refuse(w, r, v, err)
		return
	}
	session := state{Token: access.Hash(token)}
	if who.Source == access.BySignOn { // tokens of the issuer are not stored
		session = s.signedOnAs(who)
		session.Ends = who.Expires
	}
	s.enter(w, r, session, who, v.To)
}

// enter starts a session and redirects to the previous page.
func (s *Sessions) enter(w http.ResponseWriter, r *http.Request, v state, who access.Identity, to string) {
	if before := s.current(r); before != nil {
		s.finish(r, before)
	}
	if err := s.begin(w, r, v, who); err != nil {
		s.broken(w, err)
		return
	}
	s.drop(w, formCookie)
	s.drop(w, flowCookie)
	w.Header().Set("Cache-Control", "no-store")
	http.Redirect(w, r, local(to), http.StatusSeeOther)
}

// mayRead refuses tokens of clusters, which are only for reports.
func mayRead(who access.Identity) error {
	if who.Role == access.Cluster || who.Role == access.Join {
		return &access.Refusal{
			Kind: access.ErrForbidden, What: "this is the token of a cluster", Next: "use one of the role reader, operator, break-glass or admin",
		}
	}
	return access.Rule{Role: access.Reader, Scoped: true}.Admit(who)
}

// refuse shows the form again, with the error.
func (s *Sessions) refuse(w http.ResponseWriter, r *http.Request, v signInView, err error) {
	status := http.StatusServiceUnavailable
	refusal, ok := isRefusal(err)
	switch {
	case errors.Is(err, access.ErrTooMany):
		status = http.StatusTooManyRequests
	case errors.Is(err, access.ErrForbidden), errors.Is(err, access.ErrUnauthenticated):
		status = http.StatusForbidden
	}
	v.Note = "Your identity cannot be checked at the moment. Try again."
	if ok {
		v.Note = sentence(refusal.Error())
		setRetryAfter(w.Header(), refusal.RetryAfter)
	}
	s.Log.Info("not signed in", "address", access.Address(r), "reason", secret.Line(err.Error()))
	s.showSignIn(w, r, status, v)
}

func (s *Sessions) signOutPage(w http.ResponseWriter, r *http.Request) {
	who, ok, err := s.Authenticate(r)
	if err != nil || !ok {
		http.Redirect(w, r, SignInPath, http.StatusSeeOther)
		return
	}
	s.show(w, http.StatusOK, "sign-out", "Sign out", signOutView{Who: who, Form: s.FormToken(r)})
}

func (s *Sessions) signOut(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	v := s.current(r)
	if v != nil {
		if err := s.CheckForm(r); err != nil {
			s.showSignIn(w, r, http.StatusForbidden, signInView{To: "/", Note: sentence(err.Error())})
			return
		}
		s.finish(r, v)
		s.Log.Info("signed out", "address", access.Address(r))
	}
	s.drop(w, sessionCookie)
	w.Header().Set("Cache-Control", "no-store")
	http.Redirect(w, r, "/", http.StatusSeeOther)
}

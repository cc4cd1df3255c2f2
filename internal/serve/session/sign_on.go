package session

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"golang.org/x/oauth2"

	"github.com/kalypso-io/kalypso/internal/serve/access"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

const (
	flowPurpose = "signing in with the issuer"
	// flowLength is the time to sign in at the issuer.
	flowLength = 10 * time.Minute
	// patience is the timeout of requests to the issuer.
	patience = 10 * time.Second
)

// flow binds the issuer's answer to the browser.
type flow struct {
	State    string    `json:"state"`
	Nonce    string    `json:"nonce"`
	Verifier string    `json:"verifier"`
	To       string    `json:"to"`
	Begun    time.Time `json:"begun"`
}

// fingerprint identifies the configuration of the issuer and its groups.
func (s *Sessions) fingerprint() string {
	if s.SignOn == nil {
		return ""
	}
	text, _ := json.Marshal([]any{s.SignOn.Issuer, s.SignOn.Audience, s.SignOn.Roles, s.SignOn.RolesClaim, s.SignOn.NameClaim}) // texts
	return derived(text, "issuer")[:32]
}

func (s *Sessions) client(endpoint oauth2.Endpoint) *oauth2.Config {
	scopes := s.Scopes
	if scopes == nil {
		scopes = []string{"profile", "email"}
	}
	return &oauth2.Config{
		ClientID: s.SignOn.Audience, ClientSecret: s.ClientSecret.Reveal(), Endpoint: endpoint,
		RedirectURL: strings.TrimSuffix(s.URL, "/") + donePath, Scopes: append([]string{"openid"}, scopes...),
	}
}

// signOn redirects to the issuer.
func (s *Sessions) signOn(w http.ResponseWriter, r *http.Request) {
	v := signInView{To: local(r.URL.Query().Get("to"))}
	endpoint, err := s.endpoint(r)
	if err != nil {
		s.refuse(w, r, v, err)
		return
	}
	f := flow{
		State: derived(newID(), "state"), Nonce: derived(newID(), "nonce"), Verifier: oauth2.GenerateVerifier(), To: v.To, Begun: s.now(),
	}
	if err := s.setSealed(w, flowCookie, flowPurpose, f, flowLength); err != nil {
		s.broken(w, err)
		return
	}
	w.Header().Set("Cache-Control", "no-store")
	to := s.client(endpoint).AuthCodeURL(f.State, oauth2.SetAuthURLParam("nonce", f.Nonce), oauth2.S256ChallengeOption(f.Verifier))
	http.Redirect(w, r, to, http.StatusSeeOther)
}

func (s *Sessions) endpoint(r *http.Request) (oauth2.Endpoint, error) {
	if wait := s.attempts.Take(access.Address(r), s.now()); wait > 0 {
		return oauth2.Endpoint{}, &access.Refusal{
			Kind: access.ErrTooMany, What: "too many sign-in attempts from your address", Next: "wait a moment", RetryAfter: wait,
		}
	}
	return s.SignOn.Endpoint(r.Context())
}

// signedOn handles the redirect back from the issuer.
func (s *Sessions) signedOn(w http.ResponseWriter, r *http.Request) {
	var f flow
	ok := s.unsealed(r, flowCookie, flowPurpose, &f)
	v := signInView{To: local(f.To)}
	age := s.now().Sub(f.Begun)
	if !ok || age < -time.Minute || age > flowLength || !same(f.State, r.URL.Query().Get("state")) {
		v.Note = "Signing in took too long, or was started in another browser. Try again."
		s.showSignIn(w, r, http.StatusForbidden, v)
		return
	}
	s.drop(w, flowCookie) // it can be used once
	who, err := s.exchanged(r, f)
	who = s.Guard.Granted(who)
	if err == nil {
		err = mayRead(who)
	}
	if err != nil {
		s.refuse(w, r, v, err)
		return
	}
	s.enter(w, r, s.signedOnAs(who), who, f.To)
}

// maxClaimed limits the groups in a cookie, in bytes: browsers limit cookies to four kilobytes.
const maxClaimed = 1500

// signedOnAs returns the session of a user of the issuer. Its role and groups are those of the configuration, whose fingerprint it has. Grants
// are not in it: they are read for each request. Of many groups, it has those with grants now, and others as far as they fit.
func (s *Sessions) signedOnAs(who access.Identity) state {
	v := state{Name: who.Name, Role: who.Role, SignOn: s.fingerprint()}
	size := 0
	for _, group := range slices.Concat(who.Groups, who.Claimed) {
		_, has := s.SignOn.Roles[group]
		switch {
		case slices.Contains(v.Claimed, group):
			continue
		case has:
			v.Groups = append(v.Groups, group)
		}
		granted := slices.Contains(who.Groups, group)
		if size += len(group) + 3; granted || size <= maxClaimed {
			v.Claimed = append(v.Claimed, group)
		}
	}
	slices.Sort(v.Groups)
	v.Groups = slices.Compact(v.Groups)
	return v
}

// exchanged exchanges the code for the user's identity.
func (s *Sessions) exchanged(r *http.Request, f flow) (access.Identity, error) {
	answer := r.URL.Query()
	if answer.Get("error") != "" || answer.Has("iss") && answer.Get("iss") != s.SignOn.Issuer || answer.Get("code") == "" {
		return access.Identity{}, declined(errors.New("it returned " + secret.Line(answer.Get("error"))))
	}
	endpoint, err := s.endpoint(r)
	if err != nil {
		return access.Identity{}, err
	}
	ctx, cancel := context.WithTimeout(context.WithValue(r.Context(), oauth2.HTTPClient, s.SignOn.Client), patience)
	defer cancel()
	given, err := s.client(endpoint).Exchange(ctx, answer.Get("code"), oauth2.VerifierOption(f.Verifier))
	if err != nil {
		return access.Identity{}, s.notExchanged(err)
	}
	token, _ := given.Extra("id_token").(string)
	if token == "" {
		return access.Identity{}, declined(errors.New("it gave no ID token"))
	}
	return s.SignOn.VerifyNonce(ctx, secret.New(token), f.Nonce)
}

// notExchanged returns the error for a failed exchange. The issuer's answer may contain the secret.
func (s *Sessions) notExchanged(err error) error {
	var refused *oauth2.RetrieveError
	if errors.As(err, &refused) && refused.Response != nil && refused.Response.StatusCode < http.StatusInternalServerError {
		return declined(errors.New("it refused the code: " + secret.Scrub(refused.ErrorCode, s.ClientSecret)))
	}
	return &access.Refusal{
		Kind: access.ErrUnavailable, What: "the issuer does not answer at the moment", Next: "try again", RetryAfter: time.Second,
	}
}

// declined returns the error if the issuer rejects a user; the reason is for the log.
func declined(reason error) error {
	return errors.Join(&access.Refusal{
		Kind: access.ErrForbidden, What: "the issuer did not sign you in", Next: "try again, or ask your administrator",
	}, reason)
}

// hostOf returns the host of an issuer's URL.
func hostOf(issuer string) string {
	u, err := url.Parse(issuer)
	if err != nil {
		return ""
	}
	return u.Host
}

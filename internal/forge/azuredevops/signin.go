package azuredevops

import (
	"net/http"
	"strings"

	"github.com/kalypso-io/kalypso/internal/forge"
)

// signIn turns sign-in pages, meant for users, into what they mean for programs: the token was not accepted.
type signIn struct{ next http.RoundTripper }

// RoundTrip sends a request.
func (s signIn) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := s.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	asks := answer.StatusCode == http.StatusNonAuthoritativeInfo ||
		(answer.StatusCode == http.StatusFound && strings.Contains(strings.ToLower(answer.Header.Get("Location")), "signin"))
	if !asks {
		return answer, nil
	}
	_ = answer.Body.Close()
	return nil, &forge.Error{
		Kind: forge.ErrDenied, Detail: "the forge answers with its page to sign in", Status: answer.StatusCode,
		Right: "a valid token", Hint: "the token is missing, expired or revoked; configure a new one",
	}
}

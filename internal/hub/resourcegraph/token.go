package resourcegraph

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/kalypso-io/kalypso/internal/forge/transport"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

const (
	// early is how long before its end a token is replaced.
	early = 5 * time.Minute
	// longest is how long a token is kept at most, whatever the answer says.
	longest = 24 * time.Hour
)

// get returns a token that is valid for a while.
func (t *tokens) get(ctx context.Context) (secret.Value, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.last.IsZero() && t.clock.Now().Before(t.expires) {
		return t.last, nil
	}
	token, lasts, err := t.fetch(ctx)
	if err != nil {
		return secret.Value{}, fmt.Errorf("get a token of Microsoft Entra ID: %w", err)
	}
	t.last, t.expires = token, t.clock.Now().Add(max(lasts-early, lasts/2))
	return token, nil
}

// drop forgets a token that was not accepted.
func (t *tokens) drop(token secret.Value) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.last.Reveal() == token.Reveal() {
		t.last = secret.Value{}
	}
}

func (t *tokens) fetch(ctx context.Context) (secret.Value, time.Duration, error) {
	none := secret.Value{}
	form := url.Values{
		"grant_type": {"client_credentials"}, "client_id": {t.identity.Client}, "scope": {strings.TrimSuffix(t.resource, "/") + "/.default"},
	}
	if t.identity.Secret != nil {
		own, err := t.identity.Secret()
		if err != nil {
			return none, 0, err
		}
		form.Set("client_secret", own.Reveal())
	} else {
		own, err := t.identity.Federated()
		if err != nil {
			return none, 0, err
		}
		form.Set("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer")
		form.Set("client_assertion", own.Reveal())
	}
	ctx = transport.WithOperation(ctx, transport.Operation{Name: "get token", Repeatable: true})
	address := strings.TrimSuffix(t.login, "/") + "/" + url.PathEscape(t.identity.Tenant) + "/oauth2/v2.0/token"
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, address, strings.NewReader(form.Encode()))
	if err != nil {
		return none, 0, err
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	status, text, err := send(t.http, r)
	if err != nil {
		return none, 0, err
	}
	var answer struct {
		AccessToken string `json:"access_token"`
		ExpiresIn   int64  `json:"expires_in"`
		Error       string `json:"error"`
		Description string `json:"error_description"`
	}
	if err := json.Unmarshal(text, &answer); err != nil && status == http.StatusOK {
		return none, 0, errors.New("the answer is not a token")
	}
	if status != http.StatusOK {
		return none, 0, fmt.Errorf("status %d%s%s", status, code(answer.Error), code(entraCode.FindString(answer.Description)))
	}
	if answer.AccessToken == "" || strings.ContainsFunc(answer.AccessToken, func(c rune) bool { return c <= ' ' || c > '~' }) || answer.ExpiresIn <= 0 {
		return none, 0, errors.New("the answer is not a token")
	}
	return secret.New(answer.AccessToken), time.Duration(min(answer.ExpiresIn, int64(longest/time.Second))) * time.Second, nil
}

// entraCode is the code in the description of an error.
var entraCode = regexp.MustCompile(`^AADSTS[0-9]{1,10}`)

package outbound

import (
	"net/http"
	"net/url"

	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// Through returns the transport over another network.
func Through(network http.RoundTripper) http.RoundTripper { return &scrubbing{next: network} }

// Hidden returns an answer without a secret.
func Hidden(answer *http.Response, text string) *http.Response {
	answer.Request = &http.Request{URL: &url.URL{Path: "/"}}
	hide(answer, []secret.Value{secret.New(text)})
	return answer
}

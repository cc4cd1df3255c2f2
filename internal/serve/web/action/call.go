package action

import (
	"errors"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/kalypso-io/kalypso/internal/promote/decide"
	"github.com/kalypso-io/kalypso/internal/serve/api"
)

// call calls the API operation on behalf of the user.
func (s *service) call(r *request, v *view) (*api.Accepted, *api.Problem, error) {
	input := map[string]string{"why": v.Reason}
	if v.Commit != "" {
		input["commit"] = v.Commit
	}
	if v.Check != nil {
		input["check"] = v.Check.Name
	}
	address := "/environments/" + url.PathEscape(r.name) + "/" + r.action + "?controlPlane=" + url.QueryEscape(v.Environment.ControlPlane)
	if v.Ring != nil {
		_, ring := decide.SplitRing(v.Place)
		address += "&ring=" + url.QueryEscape(ring)
	}
	var done api.Accepted
	var problem *api.Problem
	switch err := api.Call(s.API, r.Request, address, input, &done); {
	case errors.As(err, &problem):
		return nil, problem, nil
	case err != nil:
		return nil, nil, err
	}
	return &done, nil, nil
}

// problemText describes a problem to users.
func problemText(p *api.Problem) string {
	texts := []string{sentence(p.Detail), sentence(p.Next)}
	for _, part := range p.Errors {
		texts = append(texts, sentence(part.Message))
	}
	return strings.TrimSpace(strings.Join(texts, " "))
}

// sentence capitalizes a text and adds a full stop.
func sentence(text string) string {
	if text == "" {
		return ""
	}
	first, size := utf8.DecodeRuneInString(text)
	return string(unicode.ToUpper(first)) + text[size:] + "."
}

package rest

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/transport"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// Failure is an answer that says no, to be put into words.
type Failure struct {
	// Op, Where and Right are the request's.
	Op, Where, Right string
	// Status is the answer's; 0 when there was none.
	Status int
	// Message is what the forge said.
	Message string
	// Secrets are kept out of it.
	Secrets []forge.Secret
}

// Error returns the failure in the vocabulary of forges, with what to do next.
func (f Failure) Error() *forge.Error {
	kind := transport.KindOfStatus(f.Status)
	if kind == nil || f.Status == 0 {
		kind = forge.ErrUnavailable
	}
	e := &forge.Error{
		Kind: kind, Op: f.Op, Where: f.Where, Status: f.Status, Detail: secret.Scrub(f.Message, f.Secrets...),
	}
	switch f.Status {
	case http.StatusUnauthorized:
		e.Right, e.Hint = "a valid token", "the token is missing, expired or revoked; configure a new one"
	case http.StatusForbidden:
		e.Right = f.Right
		e.Hint = "give the token this right"
	case http.StatusNotFound:
		e.Hint = "check the name, and that the token may see it"
	}
	return e
}

// Message finds what a forge says in an answer: the text of "message", "error" or "errors", however they are nested.
// An answer that is no JSON says nothing that people want to read.
func Message(body []byte) string {
	var answer map[string]any
	if json.Unmarshal(body, &answer) != nil {
		return ""
	}
	var said []string
	for _, key := range []string{"message", "error", "error_description", "errors"} {
		said = append(said, texts(answer[key])...)
	}
	return strings.Join(said, ": ")
}

// texts are the strings in a value, in a stable order. Objects in lists of errors say what they mean in one of a few fields.
func texts(value any) []string {
	switch v := value.(type) {
	case string:
		if v != "" {
			return []string{v}
		}
	case []any:
		var all []string
		for _, element := range v {
			all = append(all, texts(element)...)
		}
		return all
	case map[string]any:
		return texts(fields(v))
	}
	return nil
}

// fields are an object's telling fields; those of an object that has none of them are all, sorted by name.
func fields(object map[string]any) []any {
	var found []any
	for _, key := range []string{"message", "resource", "field", "code"} {
		if v, ok := object[key]; ok {
			found = append(found, v)
		}
	}
	if len(found) > 0 {
		return found
	}
	for _, key := range sortedKeys(object) {
		found = append(found, key, object[key])
	}
	return found
}

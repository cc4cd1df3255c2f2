package rest

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/transport"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// Failure is an error response.
type Failure struct {
	// Op, Where and Right are those of the request.
	Op, Where, Right string
	// Status is the HTTP status; 0 without a response.
	Status int
	// Message is the message of the forge.
	Message string
	// Secrets are removed from the message.
	Secrets []forge.Secret
}

// Error returns the failure as an error with a hint.
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
	case http.StatusGone:
		if strings.Contains(strings.ToLower(f.Message), "issues") {
			e.Hint = "enable issues in the settings of the repository"
		}
	}
	if said := strings.ToLower(f.Message); strings.Contains(said, "is archived") || strings.Contains(said, "was archived") {
		Archived(e)
	}
	return e
}

// Archived turns an error into that of a write to an archived repository. Forges answer it with 403 or 423.
func Archived(e *forge.Error) {
	e.Kind, e.Right, e.Hint = forge.ErrDenied, "", "the repository is archived; unarchive it, or remove it from the configuration"
}

// Message returns the message in an error response: the texts of "message", "error", "error_description" and "errors",
// at any depth. It is empty if the response is not JSON.
func Message(body []byte) string {
	var answer map[string]any
	if json.Unmarshal(body, &answer) != nil {
		return ""
	}
	var parts []string
	for _, key := range []string{"message", "error", "error_description", "errors"} {
		parts = append(parts, texts(answer[key])...)
	}
	return strings.Join(parts, ": ")
}

// texts returns the strings in a value, in a stable order.
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

// fields returns the fields that describe an error; all fields, sorted by name, if it has none of them.
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
	for _, key := range slices.Sorted(maps.Keys(object)) {
		found = append(found, key, object[key])
	}
	return found
}

package agent

import (
	"fmt"
	"net/http"
	"time"
)

// Refusal is how a server answers that did not take a batch.
type Refusal struct {
	Status int
	// Said is what the server says about it, fit to be shown.
	Said string
	// After is how long the server wants to be left alone; 0 when it does not say.
	After time.Duration
}

// Error says what happened and what to do now.
func (r *Refusal) Error() string {
	text := fmt.Sprintf("the server answers %d %s", r.Status, http.StatusText(r.Status))
	if r.Said != "" {
		text += fmt.Sprintf(" (%s)", r.Said)
	}
	return text + ": " + r.next()
}

// next is what to do now.
func (r *Refusal) next() string {
	switch {
	case r.Status == http.StatusUnauthorized:
		return "the token is wrong or was revoked; put a new one, from \"kalypso cluster register\", into the token file, where it is read before each attempt"
	case r.Status == http.StatusForbidden:
		return "the token may not report about this cluster; leave --cluster out, or use the token of that cluster"
	case r.Status == http.StatusNotFound:
		return "the cluster is not registered, or --server is not the address of a Kalypso server; register it with \"kalypso cluster register\""
	case r.Status == http.StatusRequestEntityTooLarge:
		return "the batch is sent again in smaller ones"
	case r.Status == http.StatusUnprocessableEntity:
		return "what it does not understand is left out; update the server if it is older than the agent"
	case r.Status/100 == 3:
		return "set --server to the address that it redirects to; the token is not sent elsewhere"
	case r.Status == http.StatusTooManyRequests, r.Status/100 == 5:
		return "nothing is lost, it is tried again"
	default:
		return "is --server the address of a Kalypso server, and not of something in front of it?"
	}
}

// aboutContent says that the batch itself was refused: another batch may be taken.
func (r *Refusal) aboutContent() bool {
	return r.Status == http.StatusRequestEntityTooLarge || r.Status == http.StatusUnprocessableEntity
}

package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/serve/access"
	"github.com/kalypso-io/kalypso/internal/serve/api"
	"github.com/kalypso-io/kalypso/internal/serve/web/trial"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

var (
	errNoPage = errors.New("page not found")
	errBroken = errors.New("internal error")
)

// panicError is a panic while a page was rendered.
type panicError struct {
	cause any
	stack []byte
}

func (e *panicError) Error() string { return fmt.Sprint(e.cause) }

// failure is the content of an error page.
type failure struct {
	Status int
	// Title names the status, What is the error, and Next says what to do.
	Title, What, Next string
	// Choices are links to pages that the user may have meant.
	Choices []Link
	// SignIn reports that the page is shown to users who sign in.
	SignIn bool
	// Enter is the address to sign in; empty if browsers cannot.
	Enter string
	// Request is the request ID in the server's log.
	Request string

	retryAfter time.Duration
}

// failureOf describes an error to users. Only errors of known kinds show their text: others were not written for users.
func failureOf(err error) failure {
	var refusal *access.Refusal
	var unknown *query.UnknownError
	var ambiguous *query.AmbiguousError
	var broken *panicError
	var plan *planError
	var problem *api.Problem
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &problem):
		return failure{Status: problem.Status, What: sentence(problem.Detail), Next: sentence(problem.Next), SignIn: problem.Status == http.StatusUnauthorized}
	case errors.As(err, &plan):
		return planFailure(plan)
	case errors.As(err, &refusal):
		return refused(refusal)
	case errors.As(err, &unknown):
		f := failure{Status: http.StatusNotFound, What: sentence(unknown.Error()), Next: "Search for part of its name."}
		for _, name := range slices.Concat(unknown.Near, unknown.Known) {
			if address := addressOf(unknown.What, name); address != "" {
				f.Choices = append(f.Choices, Link{name, address})
			}
		}
		return f
	case errors.As(err, &ambiguous):
		return failure{Status: http.StatusConflict, What: sentence(ambiguous.Error()), Next: "Choose one:"}
	case errors.As(err, &tooLarge):
		return failure{Status: http.StatusRequestEntityTooLarge, What: fmt.Sprintf("The form has more than %d KiB.", tooLarge.Limit>>10), Next: "Go back, and enter less."}
	case errors.Is(err, errNoPage):
		return failure{Status: http.StatusNotFound, What: "Page not found.", Next: "Search for part of its name, or start at the fleet."}
	case errors.Is(err, ledger.ErrNotFound):
		return failure{Status: http.StatusNotFound, What: sentence(err.Error()), Next: "Search for part of its name."}
	case errors.Is(err, ledger.ErrInvalid):
		what := strings.TrimPrefix(err.Error(), ledger.ErrInvalid.Error()+": ")
		return failure{Status: http.StatusBadRequest, What: sentence(what), Next: "Correct the input, or go back."}
	case errors.Is(err, query.ErrNotRead):
		return failure{Status: http.StatusServiceUnavailable, What: "The environment has not been read yet.", Next: "Reload the page in a moment.", retryAfter: 5 * time.Second}
	case errors.As(err, &broken), errors.Is(err, errBroken):
		return failure{Status: http.StatusInternalServerError, What: "Internal error.", Next: "The server's log has the details of this request."}
	}
	if ledger.IsFull(err) {
		return failure{
			Status: http.StatusServiceUnavailable, What: "The server's disk is full.", Next: "Nothing was stored. An administrator has to free space.",
			retryAfter: 30 * time.Second,
		}
	}
	// Other errors come from the ledger: it is locked, slow or unreachable.
	return failure{
		Status: http.StatusServiceUnavailable, What: "The ledger cannot be read at the moment.",
		Next:       "Reload the page in a moment. If the error persists, check the server's log and the ledger's database.",
		retryAfter: 5 * time.Second,
	}
}

func refused(r *access.Refusal) failure {
	f := failure{Status: http.StatusForbidden, What: sentence(r.What), Next: sentence(r.Next), retryAfter: r.RetryAfter}
	switch {
	case errors.Is(r, access.ErrUnauthenticated):
		f.Status, f.SignIn = http.StatusUnauthorized, true
	case errors.Is(r, access.ErrTooMany):
		f.Status = http.StatusTooManyRequests
	case errors.Is(r, access.ErrUnavailable):
		f.Status = http.StatusServiceUnavailable
	}
	return f
}

// folders maps [query.UnknownError.What] to the first path segment of its pages.
var folders = map[string]string{
	"environment": "environments", "workload": "workloads", "application": "workloads", "cluster": "clusters", "promotion of commit": "promotions",
}

// addressOf returns the address of a page; empty if the kind has none.
func addressOf(what, name string) string {
	folder := folders[what]
	if folder == "" {
		return ""
	}
	return "/" + folder + "/" + url.PathEscape(name)
}

// refuse sends an error page or a problem as JSON, and logs errors that are not the client's fault.
func (s *site) refuse(w http.ResponseWriter, r *http.Request, who access.Identity, err error) {
	f := failureOf(err)
	f.Title, f.Request = http.StatusText(f.Status), access.RequestID(r.Context())
	var ambiguous *query.AmbiguousError
	if errors.As(err, &ambiguous) {
		for _, url := range ambiguous.ControlPlanes {
			f.Choices = append(f.Choices, Link{url, (&pageRequest{Request: r}).with("controlPlane", url)})
		}
	}
	// Too many requests are not a fault of the server, and must not fill its log.
	if f.Status >= http.StatusInternalServerError && !errors.Is(err, context.Canceled) && !errors.Is(err, trial.ErrBusy) {
		s.logFailure(f, err)
	}
	h := w.Header()
	if f.Status == http.StatusUnauthorized {
		h.Set("WWW-Authenticate", `Bearer realm="kalypso"`)
	}
	if f.retryAfter > 0 {
		h.Set("Retry-After", strconv.Itoa(int(f.retryAfter.Seconds())))
	}
	if wantsJSON(r) {
		text, _ := json.Marshal(api.Problem{ // plain strings and numbers
			Type: "about:blank", Title: f.Title, Status: f.Status, Detail: f.What, Next: f.Next, Instance: f.Request,
		})
		send(w, r, f.Status, "application/problem+json", "", text, nil)
		return
	}
	page, err := s.failurePage(r, who, f)
	if err != nil {
		s.Log.Error("show failure", "request", f.Request, "error", err)
		http.Error(w, f.What+"\n"+f.Next, f.Status)
		return
	}
	send(w, r, f.Status, htmlType, "", page, nil)
}

func (s *site) logFailure(f failure, err error) {
	attributes := []any{"request", f.Request, "status", f.Status, "error", secret.Line(secret.Redact(err.Error()))}
	var broken *panicError
	if errors.As(err, &broken) {
		attributes = append(attributes, "stack", string(broken.stack))
	}
	s.Log.Error("show page", attributes...)
}

// failurePage renders an error page. It shows nothing of the fleet.
func (s *site) failurePage(r *http.Request, who access.Identity, f failure) ([]byte, error) {
	f.Enter = s.signInFor(r)
	main, err := s.templates.main("failure", body{Page: f, Role: who.Role})
	if err != nil {
		return nil, err
	}
	return s.templates.layout(s.frame(r, who, f.Title, "", main))
}

// broken answers a request whose handler panicked.
func (s *site) broken(w http.ResponseWriter, r *http.Request) {
	s.refuse(w, r, access.Identity{}, errBroken)
}

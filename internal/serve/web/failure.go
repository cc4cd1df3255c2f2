package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
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
	errNoPage = errors.New("there is no such page")
	errBroken = errors.New("something broke")
)

// panicError is a panic while a page was made.
type panicError struct {
	cause any
	stack []byte
}

func (e *panicError) Error() string { return fmt.Sprint(e.cause) }

// failure is what a page says instead of an answer.
type failure struct {
	Status int
	// Title names the status, What says what is wrong, and Next what to do.
	Title, What, Next string
	// Choices are pages that may have been meant.
	Choices []Link
	// SignIn says that showing who one is may help.
	SignIn bool
	// Enter is where browsers sign in; empty where they cannot.
	Enter string
	// Request is the name that the log of the server has for it.
	Request string

	retryAfter time.Duration
}

// failureOf says an error to people. Only errors of known kinds show their text: nothing else was written for them.
func failureOf(err error) failure {
	var refusal *access.Refusal
	var unknown *query.UnknownError
	var ambiguous *ambiguousError
	var broken *panicError
	var plan *planError
	switch {
	case errors.As(err, &plan):
		return unplanned(plan)
	case errors.As(err, &refusal):
		return refused(refusal)
	case errors.As(err, &unknown):
		f := failure{Status: http.StatusNotFound, What: sentence(unknown.Error()), Next: "Look for it by a part of its name, or see what there is."}
		for _, name := range unknown.Near {
			if address := addressOf(unknown.What, name); address != "" {
				f.Choices = append(f.Choices, Link{name, address})
			}
		}
		return f
	case errors.As(err, &ambiguous):
		return failure{Status: http.StatusConflict, What: sentence(ambiguous.Error()), Next: "Choose the one that you mean:", Choices: ambiguous.choices}
	case errors.Is(err, errNoPage):
		return failure{Status: http.StatusNotFound, What: "There is no such page.", Next: "Look for it by a part of its name, or begin with the fleet."}
	case errors.Is(err, ledger.ErrNotFound):
		return failure{Status: http.StatusNotFound, What: sentence(err.Error()), Next: "Look for it by a part of its name, or see what there is."}
	case errors.Is(err, ledger.ErrInvalid):
		what := strings.TrimPrefix(err.Error(), ledger.ErrInvalid.Error()+": ")
		return failure{Status: http.StatusBadRequest, What: sentence(what), Next: "Correct the address, or go back."}
	case errors.As(err, &broken), errors.Is(err, errBroken):
		return failure{Status: http.StatusInternalServerError, What: "Something broke.", Next: "The log of the server knows more about this request."}
	}
	// What is left comes from the ledger: it is locked, slow, or away.
	return failure{
		Status: http.StatusServiceUnavailable, What: "The ledger cannot be read at the moment, so nothing here can be trusted to be true.",
		Next:       "Load the page again in a moment. When this lasts, look at the log of the server and at where the ledger is kept.",
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

// folders are where things of a kind are shown, in the words of [query.UnknownError].
var folders = map[string]string{
	"environment": "environments", "workload": "workloads", "application": "workloads", "cluster": "clusters", "promotion of commit": "promotions",
}

// addressOf is where something of a kind is shown; empty for what has no page.
func addressOf(what, name string) string {
	folder := folders[what]
	if folder == "" {
		return ""
	}
	return "/" + folder + "/" + url.PathEscape(name)
}

// refuse answers with what is wrong, and logs what is not the fault of who asks.
func (s *site) refuse(w http.ResponseWriter, r *http.Request, who access.Identity, err error) {
	f := failureOf(err)
	f.Title, f.Request = http.StatusText(f.Status), access.RequestID(r.Context())
	// That many ask is nothing wrong with the server, and must not fill its log as fast as they do.
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
		text, _ := json.Marshal(api.Problem{ // it has nothing that is no JSON
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

// failurePage is the failure in its frame. Whoever may not read sees no more of the fleet than its name.
func (s *site) failurePage(r *http.Request, who access.Identity, f failure) ([]byte, error) {
	f.Enter = s.signInFor(r)
	main, err := s.templates.main("failure", body{Page: f, Role: who.Role})
	if err != nil {
		return nil, err
	}
	return s.templates.layout(s.frame(r, who, f.Title, "", main))
}

// broken answers a request whose handling panicked.
func (s *site) broken(w http.ResponseWriter, r *http.Request) {
	s.refuse(w, r, access.Identity{}, errBroken)
}

package action

import (
	"cmp"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"log/slog"
	"net/http"
	"net/url"

	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/schedule"
	"github.com/kalypso-io/kalypso/internal/serve/access"
	"github.com/kalypso-io/kalypso/internal/serve/web"
)

//go:embed pages
var files embed.FS

// Forms are those of sessions.
type Forms interface {
	// FormToken is what forms carry; empty where nobody is signed in.
	FormToken(r *http.Request) string
	// CheckForm refuses what is no form of the request's session.
	CheckForm(r *http.Request) error
	// Tell keeps a line for the next page that is shown.
	Tell(w http.ResponseWriter, text string)
}

// Handlers are the actions.
type Handlers struct {
	Pages *web.Pages   // required
	Forms Forms        // required
	API   http.Handler // required; the operations
	Log   *slog.Logger // required
	// Trail is told who approved what. The operations have their own. // required
	Trail access.Trail
	// Forges host what can be approved; nil where nothing can.
	Forges schedule.Forges
	// Spoken is told that a change of an environment was merged; nil for nobody.
	Spoken func(controlPlane, environment string)
}

// names are the actions, as the API calls them. It has no approve: programs have the forge.
var names = []string{"approve", "promote", "pause", "resume", "abort", "rollback"}

// Register lets a mux answer with the actions, beside the pages.
func (h *Handlers) Register(mux *http.ServeMux) {
	v := &service{Handlers: h, frame: h.Pages.Frame()}
	v.template = v.frame.Template(files, "pages/confirm.html")
	for _, name := range names {
		pattern := "/environments/{name}/" + name
		mux.Handle("GET "+pattern, v.shield(name, v.ask))
		mux.Handle("POST "+pattern, v.shield(name, v.act))
	}
}

type service struct {
	*Handlers
	frame    *web.Frame
	template *template.Template
}

// maxForm bounds a form, in bytes.
const maxForm = 16 << 10

// request is a request for an action, of somebody who may.
type request struct {
	*http.Request
	w   http.ResponseWriter
	who access.Identity
	// action is what it is about, and name the environment.
	action, name string
}

// shield lets requests through of who may act. Others are asked to sign in, or refused.
func (s *service) shield(action string, handle func(*request) error) http.Handler {
	next := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, maxForm)
		req := &request{Request: r, w: w, action: action, name: r.PathValue("name")}
		var err error
		if req.who, err = s.Pages.Guard.Identify(r); err == nil {
			err = req.who.May(access.Operator)
		}
		if err == nil && s.Forms.FormToken(r) == "" {
			// Who showed a token in a header has the API, and no form.
			err = &access.Refusal{Kind: access.ErrUnauthenticated, What: "forms need a session", Next: "sign in, or ask the API"}
		}
		if err == nil {
			err = handle(req)
		}
		if errors.Is(err, access.ErrUnauthenticated) && r.Method == http.MethodGet {
			http.Redirect(w, r, "/-/sign-in?to="+url.QueryEscape(r.URL.RequestURI()), http.StatusSeeOther)
			return
		}
		if err != nil {
			s.frame.Refuse(w, r, req.who, err)
		}
	})
	return &access.Shield{Next: next, Log: s.Log}
}

// ask shows what an action will do.
func (s *service) ask(r *request) error {
	v, err := s.confirmation(r, r.URL.Query())
	if err != nil {
		return err
	}
	s.show(r, http.StatusOK, v)
	return nil
}

// act does what somebody confirmed.
func (s *service) act(r *request) error {
	if err := s.Forms.CheckForm(r.Request); err != nil {
		return err
	}
	v, err := s.confirmation(r, r.PostForm)
	if err != nil {
		return err
	}
	switch {
	case r.action == "approve":
		return s.approve(r, v)
	case r.PostForm.Get("seen") != v.Environment.Commit:
		v.Note = "The environment has another commit than when this page was shown. Look again at what it will do."
		s.show(r, http.StatusConflict, v)
		return nil
	case v.NeedsCommit && v.Commit == "":
		v.Note = cmp.Or(v.Note, "Choose a commit.")
		s.show(r, http.StatusUnprocessableEntity, v)
		return nil
	}
	done, problem, err := s.call(r, v)
	if err != nil {
		return err
	}
	if problem != nil {
		v.Note = said(problem)
		s.show(r, problem.Status, v)
		return nil
	}
	s.Forms.Tell(r.w, v.done(done))
	http.Redirect(r.w, r.Request, v.Back, http.StatusSeeOther)
	return nil
}

func (s *service) show(r *request, status int, v *view) {
	s.plan(r, v)
	v.Form = s.Forms.FormToken(r.Request)
	s.frame.Show(r.w, r.Request, r.who, web.Main{
		Status: status, Title: v.Verb + " " + v.Environment.Name, Section: "/", Template: s.template, Page: v,
	})
}

// choose finds the control plane that is meant, where several have an environment of a name.
func (s *service) choose(name, controlPlane string) (query.Standing, error) {
	var found []query.Standing
	var planes, names []string
	for _, standing := range s.Pages.Observer.Standings() {
		planes = append(planes, standing.ControlPlane)
		if controlPlane == "" || standing.ControlPlane == controlPlane {
			names = append(names, standing.Environment)
		}
		if standing.Environment == name && (controlPlane == "" || standing.ControlPlane == controlPlane) {
			found = append(found, standing)
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) == 0 && len(names) == 0 && controlPlane != "":
		return query.Standing{}, query.Unknown("control plane", controlPlane, planes)
	case len(found) == 0:
		return query.Standing{}, query.Unknown("environment", name, names)
	}
	return query.Standing{}, &access.Refusal{
		Kind: access.ErrForbidden, What: fmt.Sprintf("%d control planes have an environment %q", len(found), name), Next: "begin at the page of the one that you mean",
	}
}

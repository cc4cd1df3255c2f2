package pinning

import (
	"embed"
	"errors"
	"fmt"
	"html/template"
	"log/slog"
	"net/http"
	"net/url"

	"github.com/kalypso-io/kalypso/internal/serve/access"
	"github.com/kalypso-io/kalypso/internal/serve/api"
	"github.com/kalypso-io/kalypso/internal/serve/web"
)

//go:embed pages
var files embed.FS

// Handlers serves the confirmations.
type Handlers struct {
	Pages *web.Pages   // required
	Forms web.Forms    // required
	API   http.Handler // required; the operations
	Log   *slog.Logger // required
}

// Register adds the confirmations to a mux.
func (h *Handlers) Register(mux *http.ServeMux) {
	s := &service{Handlers: h, frame: h.Pages.Frame()}
	s.template = s.frame.Template(files, "pages/confirm.html")
	for _, one := range actions {
		pattern := "/environments/{name}/targets/{target}/" + one.Name
		mux.Handle("GET "+pattern, s.shield(one, s.show))
		mux.Handle("POST "+pattern, s.shield(one, s.submit))
	}
}

type service struct {
	*Handlers
	frame    *web.Frame
	template *template.Template
}

// maxForm limits a form, in bytes.
const maxForm = 16 << 10

// request is a request of a user for a confirmation.
type request struct {
	*http.Request
	w   http.ResponseWriter
	who access.Identity
	// given has the parameters of the address or the form.
	given url.Values
}

// shield identifies the user, who must have a session, and checks the form. The operations of the API decide about roles.
func (s *service) shield(a action, handle func(*request, action) error) http.Handler {
	next := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, maxForm)
		req := &request{Request: r, w: w, given: r.URL.Query()}
		var err error
		if req.who, err = s.Pages.Guard.Identify(r); err == nil && s.Forms.FormToken(r) == "" {
			// Clients with a token in a header use the API.
			err = &access.Refusal{Kind: access.ErrUnauthenticated, What: "forms need a session", Next: "sign in, or use the API"}
		}
		if err == nil && r.Method == http.MethodPost {
			err = s.Forms.CheckForm(r)
			req.given = r.PostForm
		}
		if err == nil {
			err = handle(req, a)
		}
		if errors.Is(err, access.ErrUnauthenticated) && r.Method == http.MethodGet && s.Pages.SignIn != "" {
			http.Redirect(w, r, s.Pages.SignIn+"?to="+url.QueryEscape(r.URL.RequestURI()), http.StatusSeeOther)
			return
		}
		if err != nil {
			s.frame.Refuse(w, r, req.who, err)
		}
	})
	return &access.Shield{Next: next, Log: s.Log}
}

// show asks for a confirmation of what the preview says.
func (s *service) show(r *request, a action) error {
	v, err := s.view(r, a)
	if err != nil {
		return err
	}
	if err := s.ask(r, v, true); err != nil {
		return err
	}
	return s.send(r, http.StatusOK, v)
}

// submit opens the pull request, if the preview is still the one that the user saw.
func (s *service) submit(r *request, a action) error {
	v, err := s.view(r, a)
	if err != nil {
		return err
	}
	if err := s.ask(r, v, true); err != nil {
		return err
	}
	switch {
	case v.Note != "":
		return s.send(r, http.StatusConflict, v)
	case !v.Possible():
		return s.send(r, http.StatusConflict, v)
	case r.given.Get("seen") != v.Seen():
		v.Note = "What it would change is different since this page was loaded. Review it again."
		return s.send(r, http.StatusConflict, v)
	}
	if err := s.ask(r, v, false); err != nil {
		return err
	}
	if v.Note != "" {
		return s.send(r, http.StatusConflict, v)
	}
	s.Forms.Tell(r.w, v.told())
	http.Redirect(r.w, r.Request, v.Back, http.StatusSeeOther)
	return nil
}

// ask calls the operation, and adds its answer to the view. What refuses the request becomes its note.
func (s *service) ask(r *request, v *view, preview bool) error {
	v.Result, v.Environment, v.Changes, v.Problems, v.Findings = nil, nil, nil, nil, nil
	if v.Name == rollback && v.Revision == "" {
		return nil // the page says that no revision is chosen
	}
	var found api.PinnedTargets
	err := api.Call(s.API, r.Request, v.operation, v.body(preview), &found)
	var problem *api.Problem
	switch {
	case errors.As(err, &problem) && (problem.Status == http.StatusConflict || problem.Status == http.StatusUnprocessableEntity):
		v.Note = problem.Detail + ". " + problem.Next + "."
		return nil
	case err != nil:
		return err
	case len(found.Targets) != 1:
		return fmt.Errorf("the answer has %d targets", len(found.Targets))
	}
	v.Result = &found.Targets[0]
	if len(found.Environments) > 0 {
		v.add(&found.Environments[0])
	}
	if v.Result.Reason != "" {
		v.Note = v.Result.Reason
	}
	return nil
}

func (s *service) send(r *request, status int, v *view) error {
	v.Form = s.Forms.FormToken(r.Request)
	s.frame.Show(r.w, r.Request, r.who, web.Main{Status: status, Title: v.Verb + " " + v.Target, Section: "/", Template: s.template, Page: v})
	return nil
}

package action

import (
	"cmp"
	"embed"
	"errors"
	"html/template"
	"log/slog"
	"net/http"
	"net/url"

	"github.com/kalypso-io/kalypso/internal/pullrequest"
	"github.com/kalypso-io/kalypso/internal/serve/access"
	"github.com/kalypso-io/kalypso/internal/serve/web"
)

//go:embed pages
var files embed.FS

// Handlers serves the actions.
type Handlers struct {
	Pages *web.Pages   // required
	Forms web.Forms    // required
	API   http.Handler // required; the operations
	Log   *slog.Logger // required
	// Trail records merges. The API's operations record themselves. // required
	Trail access.Trail
	// Forges host the pull requests to merge. Optional.
	Forges pullrequest.Forges
	// Merged is called after the pull request of an environment was merged. Optional.
	Merged func(controlPlane, environment string)
}

// names lists the actions. The API has all but merge, which is about a pull request: programs use the forge.
var names = []string{"merge", "promote", "pause", "resume", "abort", "rollback", "skip", "approve", "bypass"}

// isAboutCheck reports whether an action is about a verification.
func isAboutCheck(action string) bool { return action == "approve" || action == "bypass" }

// Register adds the actions to a mux.
func (h *Handlers) Register(mux *http.ServeMux) {
	v := &service{Handlers: h, frame: h.Pages.Frame()}
	v.template = v.frame.Template(files, "pages/confirm.html")
	for _, name := range names {
		pattern := "/environments/{name}/" + name
		mux.Handle("GET "+pattern, v.shield(name, v.confirm))
		mux.Handle("POST "+pattern, v.shield(name, v.submit))
	}
}

type service struct {
	*Handlers
	frame    *web.Frame
	template *template.Template
}

// maxForm limits a form, in bytes.
const maxForm = 16 << 10

// request is a request of an operator for an action.
type request struct {
	*http.Request
	w   http.ResponseWriter
	who access.Identity
	// action is one of names; name is the environment's.
	action, name string
}

// shield lets operators through. Others are redirected to sign in, or refused.
func (s *service) shield(action string, handle func(*request) error) http.Handler {
	next := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, maxForm)
		req := &request{Request: r, w: w, action: action, name: r.PathValue("name")}
		var err error
		if req.who, err = s.Pages.Guard.Identify(r); err == nil {
			err = req.who.May(access.Operator)
		}
		if err == nil && s.Forms.FormToken(r) == "" {
			// Clients with a token in a header use the API.
			err = &access.Refusal{Kind: access.ErrUnauthenticated, What: "forms need a session", Next: "sign in, or use the API"}
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

// confirm shows the page with the form.
func (s *service) confirm(r *request) error {
	v, err := s.confirmation(r, r.URL.Query())
	if err != nil {
		return err
	}
	s.show(r, http.StatusOK, v)
	return nil
}

// submit carries out a confirmed action.
func (s *service) submit(r *request) error {
	if err := s.Forms.CheckForm(r.Request); err != nil {
		return err
	}
	v, err := s.confirmation(r, r.PostForm)
	if err != nil {
		return err
	}
	switch {
	case r.action == "merge":
		return s.merge(r, v)
	case r.PostForm.Get("seen") != v.Seen():
		v.Note = "The environment has changed since this page was loaded. Review it again."
		s.show(r, http.StatusConflict, v)
		return nil
	case v.Check == nil && isAboutCheck(r.action):
		s.show(r, http.StatusUnprocessableEntity, v)
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
		v.Note = problemText(problem)
		s.show(r, problem.Status, v)
		return nil
	}
	s.Forms.Tell(r.w, v.notice(done))
	http.Redirect(r.w, r.Request, v.Back, http.StatusSeeOther)
	return nil
}

func (s *service) show(r *request, status int, v *view) {
	s.plan(r, v)
	v.Form = s.Forms.FormToken(r.Request)
	s.frame.Show(r.w, r.Request, r.who, web.Main{
		Status: status, Title: v.Verb + " " + v.Place, Section: "/", Template: s.template, Page: v,
	})
}

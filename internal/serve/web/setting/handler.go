package setting

import (
	"embed"
	"errors"
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

// Handlers serves the forms.
type Handlers struct {
	Pages *web.Pages   // required
	Forms web.Forms    // required
	API   http.Handler // required; the operations
	Log   *slog.Logger // required
}

// Register adds the forms to a mux.
func (h *Handlers) Register(mux *http.ServeMux) {
	s := &service{Handlers: h, frame: h.Pages.Frame()}
	s.template = s.frame.Template(files, "pages/form.html")
	for pattern, read := range map[string]func(*request) (*view, error){
		"/workloads/{name}/values": s.application, "/environments/{name}/values": s.platform,
	} {
		mux.Handle("GET "+pattern, s.shield(read, s.show))
		mux.Handle("POST "+pattern, s.shield(read, s.submit))
	}
}

type service struct {
	*Handlers
	frame    *web.Frame
	template *template.Template
}

// maxForm limits a form, in bytes.
const maxForm = 1 << 20

// request is a request of a user for a form.
type request struct {
	*http.Request
	w   http.ResponseWriter
	who access.Identity
	// given has the parameters of the address or the form.
	given url.Values
}

// shield identifies the user, and reads the form. The operations of the API decide about roles.
func (s *service) shield(read func(*request) (*view, error), handle func(*request, *view) error) http.Handler {
	next := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, maxForm)
		req := &request{Request: r, w: w, given: r.URL.Query()}
		var err error
		if req.who, err = s.Pages.Guard.Identify(r); err == nil && r.Method == http.MethodPost {
			err = s.Forms.CheckForm(r)
			req.given = r.PostForm
		}
		if err == nil {
			var v *view
			if v, err = read(req); err == nil {
				err = handle(req, v)
			}
		}
		if err != nil {
			s.frame.Refuse(w, r, req.who, err)
		}
	})
	return &access.Shield{Next: next, Log: s.Log}
}

// submit shows what the values change or, when that was shown, opens the pull request.
func (s *service) submit(r *request, v *view) error {
	v.read(r.PostForm)
	v.Value = nil // what a form did is a page; programs use the operation
	if len(v.changed) == 0 && !v.wrong() {
		v.Note = "No value is changed."
	}
	if len(v.changed) == 0 || v.wrong() || !v.MaySet {
		return s.send(r, http.StatusUnprocessableEntity, v)
	}
	propose := r.PostForm.Get("do") == "propose" && r.PostForm.Get("seen") == v.digest()
	done, err := v.set(v.Message, !propose)
	var problem *api.Problem
	switch {
	case errors.As(err, &problem):
		v.refused(problem)
		return s.send(r, problem.Status, v)
	case err != nil:
		return err
	case len(done.problems) > 0:
		v.point(done.problems)
		return s.send(r, http.StatusUnprocessableEntity, v)
	}
	v.Done = done
	if propose {
		v.Back = v.Here // the form again, with what the branch has
	}
	return s.send(r, http.StatusOK, v)
}

func (s *service) show(r *request, v *view) error { return s.send(r, http.StatusOK, v) }

func (s *service) send(r *request, status int, v *view) error {
	v.Form = s.Forms.FormToken(r.Request)
	if v.Form == "" {
		v.SignIn = s.Pages.SignIn
		if v.SignIn != "" {
			v.SignIn += "?to=" + url.QueryEscape(v.Here)
		}
	}
	s.frame.Show(r.w, r.Request, r.who, web.Main{Status: status, Title: v.Title, Section: v.Section, Template: s.template, Page: v, Value: v.Value})
	return nil
}

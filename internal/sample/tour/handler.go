package tour

import (
	"embed"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"strconv"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/git"
	"github.com/kalypso-io/kalypso/internal/sample/simulate"
	"github.com/kalypso-io/kalypso/internal/serve/access"
	"github.com/kalypso-io/kalypso/internal/serve/session"
	"github.com/kalypso-io/kalypso/internal/serve/web"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

//go:embed page.html
var files embed.FS

// maxForm limits a form, in bytes: characters of a file can need three in a form.
const maxForm = 4 * maxFile

// handler serves the tour.
type handler struct {
	*Tour
	frame    *web.Frame
	template *template.Template
}

// Handler serves [Path] and what is below it:
//
//	GET  /sample/tour            the current step, or with step= an earlier one; readers
//	POST /sample/tour/propose    content: commits an edit, and opens its pull request; operators with a session, as the next three
//	POST /sample/tour/merge      repository, number, head: merges a pull request
//	POST /sample/tour/cluster    mode: makes the cluster fail, or repairs it
//	POST /sample/tour/skip       step: goes on with the step after it
func (t *Tour) Handler() http.Handler {
	h := &handler{Tour: t, frame: t.Pages.Frame()}
	h.template = h.frame.Template(files, "page.html")
	mux := http.NewServeMux()
	mux.Handle("GET "+Path, h.shield(access.Reader, h.show))
	mux.Handle("POST "+Path+"/propose", h.shield(access.Operator, h.propose))
	mux.Handle("POST "+Path+"/merge", h.shield(access.Operator, h.merge))
	mux.Handle("POST "+Path+"/cluster", h.shield(access.Operator, h.setCluster))
	mux.Handle("POST "+Path+"/skip", h.shield(access.Operator, h.skip))
	return mux
}

// request is a request of an identified user.
type request struct {
	*http.Request
	w   http.ResponseWriter
	who access.Identity
}

// shield lets users with a role through, and forms of their own sessions only.
func (h *handler) shield(role access.Role, handle func(*request) error) http.Handler {
	next := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, maxForm)
		req := &request{Request: r, w: w}
		var err error
		if req.who, err = h.Pages.Guard.Identify(r); err == nil {
			err = req.who.May(role)
		}
		if err == nil && r.Method == http.MethodPost {
			err = h.Forms.CheckForm(r)
		}
		if err == nil {
			err = handle(req)
		}
		if errors.Is(err, access.ErrUnauthenticated) && r.Method == http.MethodGet {
			http.Redirect(w, r, signIn(), http.StatusSeeOther)
			return
		}
		if err != nil {
			h.frame.Refuse(w, r, req.who, err)
		}
	})
	return &access.Shield{Next: next, Log: h.Log}
}

// signIn is the address of the page on which users sign in to come back to the tour.
func signIn() string { return session.SignInPath + "?to=" + url.QueryEscape(Path) }

func (h *handler) show(r *request) error {
	n, s, at, err := h.current(r)
	if err != nil {
		return err
	}
	if number, err := strconv.Atoi(r.FormValue("step")); err == nil && number > 0 && number <= n {
		return h.review(r, at, number-1)
	}
	return h.send(r, http.StatusOK, at, s, "", "")
}

// review shows a step that is done, or that was skipped, without its forms.
func (h *handler) review(r *request, v *view, n int) error {
	s, err := h.stateOf(r.Context(), n)
	if err != nil {
		return err
	}
	v.Review, v.Number, v.Back = true, n+1, n
	v.Step = &stepView{Number: n + 1, Title: s.title, Text: s.text}
	v.Arrivals, v.Nodes = s.arrivals, nodes(s)
	for i := range v.Steps {
		v.Steps[i].Shown = i == n
	}
	h.frame.Show(r.w, r.Request, r.who, web.Main{Status: http.StatusOK, Title: "Tour", Section: Path, Template: h.template, Page: v})
	return nil
}

// current returns the number of the current step, its state, and how far the tour is as a page shows it.
func (h *handler) current(r *request) (int, *state, *view, error) {
	n, s, err := h.look(r.Context())
	if err != nil {
		return n, s, nil, err
	}
	v := &view{Total: len(steps), Number: n + 1, Back: n, SignIn: signIn(), Token: h.Token}
	for i := range steps {
		v.Steps = append(v.Steps, stepView{Number: i + 1, Title: steps[i].title, Done: i < n, Current: i == n, Shown: i == n})
	}
	if r.who.May(access.Operator) == nil {
		v.Form = h.Forms.FormToken(r.Request)
	}
	return n, s, v, nil
}

// send sends the page. A note says what is wrong with what the user did, and content is what the user wrote.
func (h *handler) send(r *request, status int, v *view, s *state, note, content string) error {
	v.Note = note
	if err := h.fill(r.Context(), v, s, content); err != nil {
		return err
	}
	if v.Waits && note == "" {
		r.w.Header().Set("Refresh", strconv.Itoa(refreshSeconds))
	}
	h.frame.Show(r.w, r.Request, r.who, web.Main{Status: status, Title: "Tour", Section: Path, Template: h.template, Page: v})
	return nil
}

// refreshSeconds is how often a page that waits for clusters is loaded again.
const refreshSeconds = 2

// refusals are errors that the user can do something about, with the status of the answer.
var refusals = map[error]int{
	errUnchanged: http.StatusUnprocessableEntity, forge.ErrConflict: http.StatusConflict, forge.ErrDenied: http.StatusForbidden,
	forge.ErrNotFound: http.StatusNotFound, git.ErrMoved: http.StatusConflict, simulate.ErrUnknownCluster: http.StatusNotFound,
}

// done goes back to the tour, with a message; or shows the page with the reason why not.
func (h *handler) done(r *request, err error, message string) error {
	if err == nil {
		h.Forms.Tell(r.w, message)
		http.Redirect(r.w, r.Request, Path, http.StatusSeeOther)
		return nil
	}
	for known, status := range refusals {
		if errors.Is(err, known) {
			_, s, v, lookErr := h.current(r)
			if lookErr != nil {
				return lookErr
			}
			return h.send(r, status, v, s, secret.Line(secret.Redact(err.Error())), r.PostForm.Get("content"))
		}
	}
	return err
}

func (h *handler) propose(r *request) error {
	_, s, _, err := h.current(r)
	if err != nil {
		return err
	}
	if s == nil || s.name == "" || s.merged() {
		return h.done(r, fmt.Errorf("%w: there is nothing to propose at this step", forge.ErrConflict), "")
	}
	err = h.Tour.propose(r.Context(), s.step, r.who.Name, r.PostForm.Get("content"))
	return h.done(r, err, fmt.Sprintf("Committed %s on %s, and opened a pull request.", s.change.file, s.branch()))
}

func (h *handler) merge(r *request) error {
	_, s, _, err := h.current(r)
	if err != nil {
		return err
	}
	number, _ := strconv.Atoi(r.PostForm.Get("number"))
	repository := r.PostForm.Get("repository")
	for _, one := range open(s) {
		if one.Repository == repository && one.Number == number {
			err := h.Tour.merge(r.Context(), r.who.Name, repository, number, r.PostForm.Get("head"))
			return h.done(r, err, fmt.Sprintf("Merged #%d %s.", number, one.Title))
		}
	}
	return h.done(r, fmt.Errorf("%w: the tour does not wait for this pull request", forge.ErrConflict), "")
}

// open are the pull requests for which a step waits.
func open(s *state) []pullView {
	var all []pullView
	if s == nil {
		return nil
	}
	if s.pull != nil && s.pull.State == forge.Open {
		all = append(all, pullView{*s.pull, s.change.repository})
	}
	for _, a := range s.arrivals {
		if a.Pull != nil && a.environment != dev {
			all = append(all, pullView{*a.Pull, a.repository})
		}
	}
	return all
}

func (h *handler) setCluster(r *request) error {
	_, s, _, err := h.current(r)
	if err != nil {
		return err
	}
	mode := simulate.Mode(r.PostForm.Get("mode"))
	if s == nil || !(mode == simulate.Failing && s.fails || mode == simulate.Healthy && s.failing) {
		return h.done(r, fmt.Errorf("%w: this step does not change the cluster", forge.ErrConflict), "")
	}
	message := "The cluster large works again."
	if mode == simulate.Failing {
		message = "From now on, the cluster large rejects what is new."
	}
	return h.done(r, h.Clusters.Set(cluster, simulate.Behaviour{Mode: mode}), message)
}

// skip goes on with the step after the current one, whatever that waits for. A second click on an old page does nothing.
func (h *handler) skip(r *request) error {
	n, s, _, err := h.current(r)
	if err != nil {
		return err
	}
	if number, _ := strconv.Atoi(r.PostForm.Get("step")); s == nil || number != n+1 {
		return h.done(r, fmt.Errorf("%w: the tour is at another step", forge.ErrConflict), "")
	}
	h.skipped.Store(int32(n + 1)) //nolint:gosec // a few steps
	return h.done(r, nil, fmt.Sprintf("Skipped step %d.", n+1))
}

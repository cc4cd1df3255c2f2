package local

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"io"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/text/look"
	"github.com/kalypso-io/kalypso/internal/text/visible"
)

//go:embed pages
var pageFiles embed.FS

// maxForm is the maximum size of a form: a comment in its longest encoding.
const maxForm = 4 << 20

// pages serves the forge's pages. They work without scripts, and load nothing from elsewhere.
type pages struct {
	*Forge
	templates map[string]*template.Template
}

// frame is the data that all pages share.
type frame struct {
	Title string
	// Base is the prefix of every link.
	Base string
	// Places are the server's other pages.
	Places, Later []Place
	// Search is the address of the server's search. Optional.
	Search  string
	Account string
	CSRF    string
	// Here is this page's address, to return to.
	Here string
	// Repository is nil on pages without a repository.
	Repository *heading
	// Tab is the visible part of the repository.
	Tab string
	// Page is the page's own data.
	Page any
}

// repositoriesPath is the address of the list of repositories.
const repositoriesPath = "/-/repositories"

// Shell is what surrounds the page.
func (f frame) Shell() look.Shell {
	s := look.Shell{Base: f.Base, Title: f.Title, Search: f.Search, User: f.Account, SignOutForm: f.CSRF}
	for _, p := range f.Places {
		s.Places = append(s.Places, look.Place{Name: p.Name, Address: p.Address})
	}
	s.Places = append(s.Places, look.Place{Name: "Repositories", Address: f.Base + repositoriesPath, Current: true})
	for _, p := range f.Later {
		s.Places = append(s.Places, look.Place{Name: p.Name, Address: p.Address})
	}
	if f.Account == "" {
		s.SignIn = f.Base + "/-/sign-in?to=" + url.QueryEscape(f.Here)
	} else {
		s.SignOut = f.Base + "/-/sign-out"
	}
	return s
}

// heading is the repository of a page.
type heading struct {
	Owner, Name, Link, Description string
	Private                        bool
	OpenPullRequests, OpenIssues   int
	// Writable means that the visitor can write.
	Writable bool
}

// problemPage shows an error, and what to do.
type problemPage struct {
	Status       int
	Name, Detail string
}

// newPages parses the templates: each page has a folder with one, which the layout surrounds.
func newPages(f *Forge) http.Handler {
	p := &pages{f, parsePages()}
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+p.base()+"/-/style.css", serveFile("style.css", "text/css; charset=utf-8"))
	for _, name := range look.Names() {
		mux.HandleFunc("GET "+p.base()+"/-/"+name, serveLook(name))
	}
	for pattern, show := range map[string]func(*request) error{
		"GET /{$}":                                      p.repositories,
		"GET /-/repositories":                           p.repositories,
		"GET /-/sign-in":                                p.signInPage,
		"POST /-/sign-in":                               p.signInForm,
		"POST /-/sign-out":                              p.signOutForm,
		"GET /{owner}/{name}":                           p.repository,
		"GET /{owner}/{name}/files/{path...}":           p.files,
		"GET /{owner}/{name}/commits/{path...}":         p.commits,
		"GET /{owner}/{name}/commit/{hash}":             p.commit,
		"GET /{owner}/{name}/pulls":                     p.pullRequests,
		"GET /{owner}/{name}/pulls/new":                 p.openForm,
		"POST /{owner}/{name}/pulls":                    p.openPullRequest,
		"GET /{owner}/{name}/pulls/{number}":            p.pullRequest,
		"POST /{owner}/{name}/pulls/{number}/{action}":  p.pullRequestForm,
		"GET /{owner}/{name}/issues":                    p.issues,
		"GET /{owner}/{name}/issues/{number}":           p.issue,
		"POST /{owner}/{name}/issues/{number}/{action}": p.issueForm,
	} {
		method, path, _ := strings.Cut(pattern, " ")
		mux.Handle(method+" "+p.base()+path, p.handler(show))
	}
	mux.Handle(p.base()+"/", p.handler(func(*request) error { return notFound("the page does not exist") }))
	return http.NewCrossOriginProtection().Handler(mux)
}

func parsePages() map[string]*template.Template {
	functions := template.FuncMap{
		"day": day, "moment": moment, "short": fleet.ShortCommit, "stateName": stateName, "next": next, "sentence": sentence,
		"look": func(base string) string { return look.Address(base, "kalypso.css") },
	}
	layout := template.Must(look.Add(template.New("layout.html").Funcs(functions)).ParseFS(pageFiles, "pages/layout.html"))
	templates := map[string]*template.Template{}
	for _, name := range []string{"repositories", "repository", "files", "commits", "commit", "pullrequests", "pullrequest", "open", "issues", "issue", "signin", "problem"} {
		templates[name] = template.Must(template.Must(layout.Clone()).ParseFS(pageFiles, path.Join("pages", name, "page.html")))
	}
	return templates
}

// serveFile serves an embedded file.
func serveFile(name, kind string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		content, _ := pageFiles.ReadFile(path.Join("pages", name))
		w.Header().Set("Content-Type", kind)
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Cache-Control", "max-age=300")
		_, _ = w.Write(content)
	}
}

// serveLook serves a file that the forge shares with the pages of the server.
func serveLook(name string) http.HandlerFunc {
	content, contentType := look.Read(name)
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", contentType)
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Cache-Control", "max-age=300")
		if r.URL.Query().Get("v") != "" || contentType == look.Font {
			w.Header().Set("Cache-Control", "max-age=31536000, immutable")
		}
		_, _ = w.Write(content)
	}
}

// request is a visitor's request for a page.
type request struct {
	*http.Request
	w     http.ResponseWriter
	visit visit
	frame frame
}

// handler authenticates visitors, rejects forged forms, and shows errors.
func (p *pages) handler(show func(*request) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, maxForm)
		req := &request{Request: r, w: w, frame: frame{Base: p.base(), Places: p.Places, Later: p.later, Search: p.Search, Here: r.URL.RequestURI()}}
		err := p.enter(req)
		if err == nil {
			err = show(req)
		}
		if err != nil {
			p.problem(req, err)
		}
	})
}

// enter authenticates the visitor. All forms except signing in need a signed-in user.
func (p *pages) enter(r *request) (err error) {
	if r.visit, err = p.visitOf(r.Request); err != nil {
		return err
	}
	r.visit.account.public = p.public(r.Request)
	r.frame.Account, r.frame.CSRF = r.visit.account.Name, r.visit.csrf
	if r.Method == http.MethodPost && !strings.HasPrefix(r.URL.Path, p.base()+"/-/") && !r.visit.sentByUs(r.Request) {
		return &forge.Error{
			Kind: forge.ErrDenied, Op: "act", Detail: "the form is not of your session", Hint: "sign in, load the page again and repeat",
		}
	}
	return nil
}

// the returns a page's repository as the visitor sees it, and adds its heading to the page.
func (p *pages) the(r *request, tab string) (*Repository, entry, error) {
	repo := p.As(r.visit.account).at(r.PathValue("owner") + "/" + r.PathValue("name"))
	e, err := repo.enter(r.Context(), Read)
	if err != nil {
		return nil, e, err
	}
	h := &heading{
		Owner: e.owner, Name: e.name, Description: e.description, Private: e.private,
		Link: p.base() + "/" + e.owner + "/" + e.name, Writable: r.visit.account.may(Write, e.path()),
	}
	err = row(r.Context(), p.db, "countOpen", e.id).Scan(&h.OpenPullRequests, &h.OpenIssues)
	r.frame.Repository, r.frame.Tab = h, tab
	return repo, e, err
}

// render writes a page. It executes the template completely first, so that an error never truncates a page.
// Reviewers must see everything in a pull request, so render marks characters that browsers do not show.
func (p *pages) render(r *request, status int, name, title string, data any) error {
	r.frame.Title, r.frame.Page = title, data
	var page bytes.Buffer
	if err := p.templates[name].Execute(&page, r.frame); err != nil {
		return fmt.Errorf("show page %q: %w", name, err)
	}
	h := r.w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy",
		"default-src 'none'; style-src 'self'; img-src 'self'; font-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
	r.w.WriteHeader(status)
	_, err := io.WriteString(r.w, visible.Text(page.String()))
	if err != nil {
		p.log.Debug("send page", "error", err)
	}
	return nil
}

// problem shows an error. If visitors who are not signed in get "not found", it redirects them to sign in.
func (p *pages) problem(r *request, err error) {
	explain("show page", "", &err)
	var known *forge.Error
	data := problemPage{Status: statusOf(err), Detail: "The request ended."}
	if errors.As(err, &known) {
		// It can quote the request, in any length.
		data.Detail = strings.Trim(forge.OneLine(known.Detail, 300)+"; "+forge.OneLine(known.Hint, 300), "; ")
	}
	data.Name = http.StatusText(data.Status)
	if !r.visit.signedIn() && r.Method == http.MethodGet && data.Status == http.StatusNotFound && r.Pattern != p.base()+"/" {
		http.Redirect(r.w, r.Request, p.base()+"/-/sign-in?to="+url.QueryEscape(r.frame.Here), http.StatusSeeOther)
		return
	}
	if data.Status >= http.StatusInternalServerError {
		data.Detail = "this cannot be read or written at the moment; the log of the server says why" // the message names folders
		p.log.Error("show page", "path", r.URL.Path, "error", err)
	}
	if err := p.render(r, data.Status, "problem", data.Name, data); err != nil {
		http.Error(r.w, data.Name, data.Status)
	}
}

// back redirects to a page after a form.
func (p *pages) back(r *request, to string) error {
	http.Redirect(r.w, r.Request, to, http.StatusSeeOther)
	return nil
}

func day(t time.Time) string    { return t.Format("2006-01-02") }
func moment(t time.Time) string { return t.Format("2006-01-02 15:04 MST") }

// stateName returns a state or the result of a check as pages show it.
func stateName(state any) string {
	text := fmt.Sprint(state)
	if text == "" {
		return ""
	}
	return strings.ToUpper(text[:1]) + text[1:]
}

// sentence adds a capital letter and a full stop.
func sentence(text string) string {
	if text == "" {
		return ""
	}
	first, size := utf8.DecodeRuneInString(text)
	return string(unicode.ToUpper(first)) + strings.TrimSuffix(text[size:], ".") + "."
}

// next returns the line number for an index.
func next(index int) int { return index + 1 }

package local

import (
	"cmp"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/local/receivepack"
	"github.com/kalypso-io/kalypso/internal/git"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

const (
	upload  = "git-upload-pack"
	receive = "git-receive-pack"
)

// Bounds of the requests of fetches, which clients without a token can send: of one, uncompressed, and of all at the same time.
// Cloning a repository with 100,000 branches takes 5 MB.
const (
	maxWants    = 8 << 20
	maxAllWants = 64 << 20
)

// gitPath splits the path of a git request. Objects are not served as files.
func gitPath(path string) (repository, service string, ok bool) {
	for _, service := range []string{"/info/refs", "/" + upload, "/" + receive} {
		if repository, ok := strings.CutSuffix(path, service); ok && strings.Count(repository, "/") == 2 {
			return strings.TrimSuffix(strings.TrimPrefix(repository, "/"), ".git"), service[1:], true
		}
	}
	return "", "", false
}

// gitHandler serves git over smart HTTP: it checks permissions, and passes requests to the git program.
type gitHandler struct{ *Forge }

// call is an authorized git request.
type call struct {
	entry
	account Account
	// service is upload or receive, action its requested part.
	service, action string
}

func (g gitHandler) serve(w http.ResponseWriter, r *http.Request, path, action string) {
	ctx, cancel := context.WithTimeout(r.Context(), g.timeout())
	defer cancel()
	g.hurry(w)
	service := action
	if action == "info/refs" {
		service = r.URL.Query().Get("service")
	}
	switch {
	case service != upload && service != receive:
		http.Error(w, "Only git's smart protocol is spoken here; use a git from this decade.", http.StatusForbidden)
		return
	case action == "info/refs" && r.Method != http.MethodGet, action != "info/refs" && r.Method != http.MethodPost:
		http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
		return
	}
	c, status, message := g.admit(ctx, r, path, service)
	if status != 0 {
		if status == http.StatusUnauthorized {
			w.Header().Set("WWW-Authenticate", `Basic realm="Kalypso"`)
		}
		http.Error(w, message, status)
		return
	}
	c.action = action
	if err := g.run(ctx, w, r, c); err != nil {
		g.log.Warn("serve git", "repository", c.path(), "service", service, "error", err)
	}
}

func (in *installation) timeout() time.Duration {
	if in.Timeout > 0 {
		return in.Timeout
	}
	return 15 * time.Minute
}

// hurry sets deadlines, so that slow clients are disconnected. Writers without deadlines are ignored.
func (g gitHandler) hurry(w http.ResponseWriter) {
	control, end := http.NewResponseController(w), time.Now().Add(g.timeout())
	_ = control.SetReadDeadline(end)
	_ = control.SetWriteDeadline(end)
}

// admit authorizes a request, or returns the status and message of the refusal.
// For clients that cannot read a repository, it looks as if it did not exist.
func (g gitHandler) admit(ctx context.Context, r *http.Request, path, service string) (call, int, string) {
	account, known, err := g.visitor(ctx, r)
	if err != nil {
		return call{}, statusOf(err), "The forge cannot check the token now."
	}
	account.public = g.public(r)
	e, err := g.find(ctx, path)
	if errors.Is(err, forge.ErrNotFound) && service == receive && account.may(Admin, path) {
		e, err = g.createFor(ctx, account, path)
	}
	if err != nil && !errors.Is(err, forge.ErrNotFound) {
		return call{}, statusOf(err), "The forge cannot read its database now."
	}
	visible := err == nil && g.mayRead(account, e)
	switch {
	case !known && (!visible || service == receive || r.Header.Get("Authorization") != ""):
		return call{}, http.StatusUnauthorized, "Show a token of this forge as the password."
	case !visible:
		return call{}, http.StatusNotFound, "The repository does not exist, or the token cannot read it."
	case service == receive && !account.may(Write, e.path()):
		return call{}, http.StatusForbidden, "The token of " + account.Name + " cannot push here; it needs the right write."
	}
	return call{entry: e, account: account, service: service}, 0, ""
}

// createFor creates the missing repository that an administrator pushes to.
// Of two concurrent pushes, the second uses the repository that the first created.
func (g gitHandler) createFor(ctx context.Context, account Account, path string) (entry, error) {
	owner, name, _ := strings.Cut(path, "/")
	_, err := g.As(account).CreateRepository(ctx, forge.NewRepository{Owner: owner, Name: name})
	switch {
	case errors.Is(err, forge.ErrInvalid):
		return entry{}, forge.ErrNotFound // not a valid repository name
	case err != nil && !errors.Is(err, forge.ErrConflict):
		return entry{}, err
	}
	return g.find(ctx, path)
}

// run receives the request and serves it.
func (g gitHandler) run(ctx context.Context, w http.ResponseWriter, r *http.Request, c call) error {
	if c.action == "info/refs" {
		g.handOver(w, r, c, nil, 0)
		return nil
	}
	limit, wants := int64(maxWants), &g.wants
	if c.service == receive {
		limit, wants = cmp.Or(max(g.MaxPush, 0), 2<<30), nil
	}
	room := &room{all: wants}
	defer room.leave()
	body, size, err := g.spool(r, limit, room)
	if err != nil {
		status := http.StatusBadRequest
		switch {
		case errors.Is(err, errTooLarge):
			status = http.StatusRequestEntityTooLarge
		case errors.Is(err, errBusy):
			status = http.StatusServiceUnavailable
			w.Header().Set("Retry-After", "5")
		}
		http.Error(w, secret.Scrub(err.Error()), status)
		return err
	}
	defer func() {
		_ = body.Close()
		_ = os.Remove(body.Name())
	}()
	if c.service == receive {
		return g.push(ctx, w, r, c, body, size)
	}
	g.handOver(w, r, c, body, size)
	return nil
}

var (
	errTooLarge = errors.New("the request is too large")
	errBusy     = errors.New("too many requests are being received; try again")
)

// room is the share of a request in what all fetches may store at the same time. Without all, it is unlimited.
type room struct {
	all  *atomic.Int64
	used int64
}

func (r *room) Write(p []byte) (int, error) {
	if r.all != nil {
		r.used += int64(len(p))
		if r.all.Add(int64(len(p))) > maxAllWants {
			return 0, errBusy
		}
	}
	return len(p), nil
}

func (r *room) leave() {
	if r.all != nil {
		r.all.Add(-r.used)
	}
}

// spool receives a request into a file, uncompressed. The git program needs the length,
// and a slow client must not block others.
func (g gitHandler) spool(r *http.Request, limit int64, room io.Writer) (*os.File, int64, error) {
	var source io.Reader = r.Body
	switch encoding := r.Header.Get("Content-Encoding"); encoding {
	case "":
	case "gzip", "x-gzip":
		unpacked, err := gzip.NewReader(r.Body)
		if err != nil {
			return nil, 0, fmt.Errorf("unpack request: %w", err)
		}
		source = unpacked
	default:
		return nil, 0, fmt.Errorf("the encoding %q is not understood", encoding)
	}
	file, err := os.CreateTemp(g.temporary(), "request-")
	if err != nil {
		return nil, 0, fmt.Errorf("receive request: %w", err)
	}
	size, err := io.Copy(file, io.TeeReader(io.LimitReader(source, limit+1), room))
	if err == nil && size > limit {
		err = errTooLarge
	}
	if err == nil {
		_, err = file.Seek(0, io.SeekStart)
	}
	if err != nil {
		return nil, 0, errors.Join(fmt.Errorf("receive request: %w", err), file.Close(), os.Remove(file.Name()))
	}
	return file, size, nil
}

// push checks a push, runs git, and processes the result.
func (g gitHandler) push(ctx context.Context, w http.ResponseWriter, r *http.Request, c call, body *os.File, size int64) error {
	request, err := receivepack.Read(body)
	if err != nil {
		http.Error(w, secret.Scrub(err.Error()), http.StatusBadRequest)
		return err
	}
	if err := checkPush(ctx, c, request, body); err != nil {
		if understood, failed := request.Refuse(w, refuseAll(request, err), ""); failed != nil || !understood {
			http.Error(w, secret.Scrub(err.Error()), http.StatusRequestEntityTooLarge)
		}
		return err
	}
	if _, err := body.Seek(0, io.SeekStart); err != nil {
		return err
	}
	unlock, err := g.locks.lock(ctx, c.id)
	if err != nil {
		http.Error(w, "Others are writing to this repository; try again.", http.StatusServiceUnavailable)
		return err
	}
	defer unlock()
	reasons, err := g.refusals(ctx, c, request)
	if err != nil {
		http.Error(w, "The forge cannot read its database now.", http.StatusServiceUnavailable)
		return err
	}
	if len(reasons) > 0 {
		return g.refuse(w, request, reasons)
	}
	g.handOver(w, r, c, body, size)
	// The client may have disconnected; git's result still counts.
	return g.followUp(context.WithoutCancel(ctx), c, request)
}

// maxPushed bounds the size of the objects of one push, unpacked. Git makes them in memory.
const maxPushed = 8 << 30

// checkPush returns why Git must not get the objects of a push, which follow the commands.
func checkPush(ctx context.Context, c call, request receivepack.Request, body io.Reader) error {
	if !slices.ContainsFunc(request.Commands, func(c receivepack.Command) bool { return !c.Deletes() }) {
		return nil // there is no pack
	}
	return git.CheckPack(ctx, c.path(), body, git.Limits{Content: maxPushed})
}

func refuseAll(request receivepack.Request, err error) map[string]string {
	reasons := map[string]string{}
	for _, command := range request.Commands {
		reasons[command.Ref] = secret.Scrub(err.Error())
	}
	return reasons
}

// refusals returns the commands of a push that are not allowed, with reasons.
func (g gitHandler) refusals(ctx context.Context, c call, request receivepack.Request) (map[string]string, error) {
	reasons := map[string]string{}
	for _, command := range request.Commands {
		branch, ok := command.Branch()
		switch {
		case strings.HasPrefix(command.Ref, "refs/tags/"):
			continue
		case !ok:
			reasons[command.Ref] = "only branches and tags can be pushed"
			continue
		}
		p, err := g.protection(ctx, c.entry, branch)
		if err != nil {
			return nil, err
		}
		switch {
		case p.Protected() && command.Deletes():
			reasons[command.Ref] = "the branch is protected and cannot be deleted"
		case p.Protected() && !command.Creates():
			reasons[command.Ref] = "the branch is protected; push another branch and open a pull request"
		}
	}
	return reasons, nil
}

const advice = "Nothing was pushed. Protected branches move only by merging pull requests;\npush to another branch and open a pull request from it."

// refuse answers a push in git's protocol, or with HTTP for clients that do not support that.
func (g gitHandler) refuse(w http.ResponseWriter, request receivepack.Request, reasons map[string]string) error {
	var answer strings.Builder
	if understood, err := request.Refuse(&answer, reasons, advice); err != nil || !understood {
		http.Error(w, advice, http.StatusForbidden)
		return err
	}
	w.Header().Set("Content-Type", "application/x-git-receive-pack-result")
	w.Header().Set("Cache-Control", "no-cache")
	_, err := io.WriteString(w, answer.String())
	return err
}

// followUp processes the branches that a push moved.
func (g gitHandler) followUp(ctx context.Context, c call, request receivepack.Request) error {
	objects := g.open(c.entry)
	var done []moved
	for _, command := range request.Commands {
		branch, ok := command.Branch()
		if !ok {
			continue
		}
		now, err := objects.branch(branch)
		if err != nil {
			return err
		}
		switch {
		case now.String() != command.New || command.Old == command.New:
		case now.IsZero():
			done = append(done, moved{branch: branch})
		default:
			done = append(done, moved{branch, now.String()})
		}
	}
	if len(done) == 0 {
		return nil
	}
	return g.pushed(ctx, c.entry, c.account.Name, done)
}

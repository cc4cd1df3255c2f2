package wiring

import (
	"cmp"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/semaphore"

	"github.com/kalypso-io/kalypso/internal/deliver"
	"github.com/kalypso-io/kalypso/internal/fleet/editing"
	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/git"
	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/pullrequest"
	"github.com/kalypso-io/kalypso/internal/repository"
	"github.com/kalypso-io/kalypso/internal/schedule"
	"github.com/kalypso-io/kalypso/internal/serve/access"
	"github.com/kalypso-io/kalypso/internal/serve/api"
	"github.com/kalypso-io/kalypso/internal/text/markdown"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// byHand sets values for users who do not use Git, with the server's access to repositories and forges.
type byHand struct {
	flows  *Flows
	people []forge.Person
	url    string
	// key seals what the server says about its pull requests.
	key secret.Value
	// turns limits how many are made at the same time: each renders an environment twice.
	turns *semaphore.Weighted
	// opening makes requests with the same values find the pull request of the first.
	opening sync.Mutex
}

var _ api.Values = (*byHand)(nil)

// maxByHand is how many requests to set values are processed at the same time.
const maxByHand = 2

// wireValues lets users set values by hand.
func (s *Server) wireValues(ctx context.Context) error {
	key, err := s.sharedSecret(ctx, sessionKeyFile)
	if err != nil {
		return err
	}
	v := &byHand{flows: s.Flows, people: s.Config.People, url: strings.TrimSuffix(s.Config.URL, "/"), key: key, turns: semaphore.NewWeighted(maxByHand)}
	s.API.Values, s.API.Targets, s.Flows.vouched = v, v, v.vouched
	return nil
}

// Author implements [api.Values]. The groups are those of the issuer, and those that the configuration gives the user.
func (v *byHand) Author(who access.Identity) editing.Author {
	if who.Source == access.Anonymous || who.Source == "" {
		return editing.Author{}
	}
	a := editing.Author{Name: who.Name, Groups: slices.Concat(who.Groups, who.Claimed)}
	for _, p := range v.people {
		if strings.EqualFold(p.User, who.Name) {
			a.Groups = append(a.Groups, p.Groups...)
		}
	}
	slices.Sort(a.Groups)
	a.Groups = slices.Compact(a.Groups)
	return a
}

// ApplicationForm implements [api.Values].
func (v *byHand) ApplicationForm(ctx context.Context, a *query.Application, r deliver.FormRequest) (*deliver.Form, error) {
	var err error
	at := v.flows.plane(a.ControlPlane)
	if r.Request, err = at.Request(ctx, a.Subject); err != nil {
		return nil, v.explain(ctx, err)
	}
	f, err := at.ApplicationLoader().Form(ctx, r)
	return f, v.explain(ctx, err)
}

// SetApplication implements [api.Values].
func (v *byHand) SetApplication(
	ctx context.Context, a *query.Application, r deliver.SetRequest, who access.Identity, propose bool,
) (*deliver.Setting, *pullrequest.Written, error) {
	if err := v.turns.Acquire(ctx, 1); err != nil {
		return nil, nil, err
	}
	defer v.turns.Release(1)
	commits := v.committer(who)
	s, err := v.flows.plane(a.ControlPlane).SetApplication(ctx, a.Subject, commits, r)
	if err != nil || !propose || s.Commit == "" || len(s.Problems) > 0 {
		return s, nil, v.explain(ctx, err)
	}
	w, err := v.write(ctx, commits, r.Author, pullrequest.ByHand{
		Environment: s.Environment, Repo: s.Repo, Branch: s.Branch, Base: s.Base, Commit: s.Commit, Message: s.Message, Digest: s.Digest, Body: applicationBody(s),
	})
	return s, w, err
}

// SetPlatform implements [api.Values].
func (v *byHand) SetPlatform(ctx context.Context, r schedule.SetRequest, who access.Identity, propose bool) (*schedule.Setting, *pullrequest.Written, error) {
	if err := v.turns.Acquire(ctx, 1); err != nil {
		return nil, nil, err
	}
	defer v.turns.Release(1)
	commits := v.committer(who)
	s, err := v.flows.plane(r.ControlPlane).Set(ctx, commits, r)
	if err != nil || !propose || s.Commit == "" || len(s.Problems) > 0 {
		return s, nil, v.explain(ctx, err)
	}
	w, err := v.write(ctx, commits, r.Author, pullrequest.ByHand{
		Environment: s.Environment, Repo: s.Repo, Branch: s.Branch, Base: s.Base, Commit: s.Commit, Message: s.Message, Digest: s.Digest,
	})
	return s, w, err
}

// committer makes commits of a user, which the server commits.
func (v *byHand) committer(who access.Identity) repository.Committer {
	c := v.flows.Commits
	c.Committer = c.Author
	name := strings.Map(func(r rune) rune {
		if r < ' ' || strings.ContainsRune("<>\u007f", r) {
			return -1
		}
		return r
	}, who.Name)
	c.Author = git.Person{Name: cmp.Or(strings.TrimSpace(name), string(access.Anonymous)), Email: c.Author.Email}
	if strings.Contains(name, "@") && !strings.ContainsAny(name, " \t") {
		c.Author.Email = name
	}
	return c
}

// write opens the pull request.
func (v *byHand) write(ctx context.Context, commits repository.Committer, author editing.Author, b pullrequest.ByHand) (*pullrequest.Written, error) {
	vouch, err := v.vouch(author, b.Commit)
	if err != nil {
		return nil, err
	}
	b.PullRequest, b.Forges = true, v.flows.Forges
	b.Body = strings.TrimSpace("Set by "+markdown.Escape(commits.Author.Name)+" on "+v.url+"\n\n"+b.Body) + "\n\n" + vouch + "\n"
	v.opening.Lock()
	defer v.opening.Unlock()
	w, err := pullrequest.WriteByHand(ctx, commits, b)
	if err != nil {
		return nil, v.explain(ctx, err)
	}
	return &w, nil
}

// maxBodyTargets limits the targets that a pull request lists.
const maxBodyTargets = 50

// applicationBody lists what values change.
func applicationBody(s *deliver.Setting) string {
	var b strings.Builder
	shown := func(value *string) string {
		if value == nil {
			return "nothing"
		}
		return markdown.Code(*value)
	}
	for i, t := range s.Targets {
		if i == maxBodyTargets {
			fmt.Fprintf(&b, "- and %d more targets\n", len(s.Targets)-i)
			break
		}
		for _, c := range t.Values {
			fmt.Fprintf(&b, "- %s: %s from %s to %s\n", markdown.Escape(t.Name), markdown.Code(c.Key), shown(c.Old), shown(c.New))
		}
		for _, line := range deliver.RestartLines(t.Restarts, t.Configs) {
			fmt.Fprintf(&b, "- %s: %s\n", markdown.Escape(t.Name), markdown.Escape(line))
		}
	}
	return b.String()
}

// explain converts an error for clients.
func (v *byHand) explain(ctx context.Context, err error) error {
	e := &api.SettingError{Status: http.StatusUnprocessableEntity, Next: "correct the request, or use kalypso config set", Err: err}
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil, errors.Is(err, query.ErrNotRead), errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.Is(err, forge.ErrDenied), errors.Is(err, git.ErrDenied):
		e.Status, e.Next = http.StatusForbidden, "set the values with the command, or ask an administrator to give the server's account the right to write"
		e.Err = fmt.Errorf("this server has no right to write there: %w", err)
	case errors.Is(err, pullrequest.ErrMoved), errors.Is(err, pullrequest.ErrBusy), errors.Is(err, forge.ErrConflict):
		e.Status, e.Next = http.StatusConflict, "try again"
	case errors.Is(err, forge.ErrUnavailable), errors.Is(err, forge.ErrRateLimited):
		e.Status, e.Next = http.StatusServiceUnavailable, "try again in a moment"
	case errors.Is(err, forge.ErrInvalid):
		e.Next = "set the values with the command, or add the forge to the configuration of the server"
	}
	e.Err = errors.New(secret.Redact(e.Err.Error()))
	return e
}

// vouching is what the server says about a pull request that it opened for a user.
type vouching struct {
	User   string   `json:"user"`
	Groups []string `json:"groups,omitempty"`
	Commit string   `json:"commit"`
}

// vouchPrefix begins the line of a pull request with a sealed vouching.
const vouchPrefix = "kalypso-set:"

// vouch returns a line for the text of a pull request: a check of edit rights reads from it who set the values. Only the servers that share
// the ledger can write and read it.
func (v *byHand) vouch(author editing.Author, commit string) (string, error) {
	seal, err := v.sealing()
	if err != nil {
		return "", err
	}
	text, err := json.Marshal(vouching{author.Name, author.Groups, commit})
	if err != nil {
		return "", err
	}
	return "<!-- " + vouchPrefix + base64.RawURLEncoding.EncodeToString(seal.Seal(nil, nil, text, []byte(vouchPrefix))) + " -->", nil
}

func (v *byHand) sealing() (cipher.AEAD, error) {
	key := sha256.Sum256([]byte(vouchPrefix + v.key.Reveal()))
	block, err := aes.NewCipher(key[:])
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}

// vouched returns who set the values of a pull request, if the server opened it for a user and its commit is still that of the user.
func (v *byHand) vouched(change forge.PullRequest) (editing.Author, bool) {
	seal, err := v.sealing()
	if err != nil {
		return editing.Author{}, false
	}
	for line := range strings.Lines(change.Body) {
		_, rest, ok := strings.Cut(line, vouchPrefix)
		if !ok {
			continue
		}
		text, _, _ := strings.Cut(strings.TrimSpace(rest), " ")
		sealed, err := base64.RawURLEncoding.DecodeString(text)
		if err != nil {
			continue
		}
		plain, err := seal.Open(nil, nil, sealed, []byte(vouchPrefix))
		var of vouching
		if err == nil && json.Unmarshal(plain, &of) == nil && of.Commit == change.Head.Commit && change.Head.Fork == "" {
			return editing.Author{Name: of.User, Groups: of.Groups}, true
		}
	}
	return editing.Author{}, false
}

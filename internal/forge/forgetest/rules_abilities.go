package forgetest

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kalypso-io/kalypso/internal/forge"
)

var abilityRules = []rule{
	{"the viewer is the author of its pull requests", func(s *suite) {
		who, err := can[forge.Viewer](s, s.Forge).Viewer(s.ctx)
		s.must(err)
		if c := s.open("mine"); !strings.EqualFold(c.Author, who) {
			s.Errorf("viewer %q opened as %q", who, c.Author)
		}
	}},
	{"protection is read as it was set", func(s *suite) {
		protector := can[forge.Protector](s, s.repo)
		for _, want := range []forge.Protection{
			{},
			{PullRequestsOnly: true, Checks: []string{"kalypso/deletions", "kalypso/plan"}},
			{PullRequestsOnly: true, Approvals: 2, CodeOwners: true},
			{Checks: []string{"ci"}},
			{},
			{},
		} {
			s.must(protector.Protect(s.ctx, "main", want))
			got, err := protector.Protection(s.ctx, "main")
			s.must(err)
			if !cmp.Equal(want, got) {
				s.Errorf("got %+v, want %+v", got, want)
			}
		}
	}},
	{"the code owners file has a path", func(s *suite) {
		if path := can[forge.CodeOwned](s, s.repo).CodeOwnersPath(); !strings.HasSuffix(path, "CODEOWNERS") {
			s.Errorf("got %q", path)
		}
	}},
	{"branches are created and deleted", func(s *suite) {
		brancher := can[forge.Brancher](s, s.repo)
		commit := s.Commit(s.T, s.url, "main")
		for range 2 {
			s.must(brancher.CreateBranch(s.ctx, "env/dev", commit))
		}
		newer := s.Commit(s.T, s.url, "main")
		s.wantKind(brancher.CreateBranch(s.ctx, "env/dev", newer), forge.ErrConflict)
		for range 2 {
			s.must(brancher.DeleteBranch(s.ctx, "env/dev"))
		}
		s.must(brancher.CreateBranch(s.ctx, "env/dev", newer))
	}},
	{"repositories are created once", func(s *suite) {
		creator := can[forge.Creator](s, s.Forge)
		if s.Owner == "" {
			s.Skip("the harness names no owner")
		}
		name := s.repo.ID().Name() + "-created"
		r, err := creator.CreateRepository(s.ctx, forge.NewRepository{Owner: s.Owner, Name: name, Private: true, Description: "GitOps"})
		s.must(err)
		if r.ID().Name() != name || r.ID().Owner() != s.Owner {
			s.Errorf("created %v", r.ID())
		}
		_, err = creator.CreateRepository(s.ctx, forge.NewRepository{Owner: s.Owner, Name: name})
		s.wantKind(err, forge.ErrConflict)
	}},
	{"repositories have a description, and are removed", func(s *suite) {
		creator := can[forge.Creator](s, s.Forge)
		if s.Owner == "" {
			s.Skip("the harness names no owner")
		}
		name := s.repo.ID().Name() + "-removed"
		r, err := creator.CreateRepository(s.ctx, forge.NewRepository{Owner: s.Owner, Name: name, Private: true, Description: "For a while"})
		s.must(err)
		remover := can[forge.Remover](s, r)
		if got, err := remover.Description(s.ctx); err != nil || got != "For a while" {
			s.Errorf("description %q, %v", got, err)
		}
		// An account that can create repositories in a group need not own it.
		err = remover.Remove(s.ctx)
		if s.Fake == nil && errors.Is(err, forge.ErrDenied) {
			s.Skip(err)
		}
		s.must(err)
		s.must(remover.Remove(s.ctx))
		s.eventually("it is still there", func() bool {
			_, err := remover.Description(s.ctx)
			return errors.Is(err, forge.ErrNotFound)
		})
		s.must(s.repo.EnsureLabel(s.ctx, promoted)) // the other label is unchanged
	}},
}

var hookRules = []rule{
	{"events are delivered, signed", func(s *suite) {
		if s.Remote {
			s.Skip("the forge cannot reach this machine")
		}
		hooker, verifier := can[forge.Hooker](s, s.repo), can[forge.WebhookVerifier](s, s.Forge)
		key := forge.NewSecret("a shared secret")
		receiver := newReceiver(s, verifier, key)
		for range 2 {
			s.must(hooker.EnsureHook(s.ctx, forge.Hook{URL: receiver.URL, Secret: key}))
		}
		head := s.Commit(s.T, s.url, "watched")
		receiver.wait(s, forge.Event{Kind: forge.EventPush, Branch: "watched", Commit: head})
		c, err := s.repo.OpenPullRequest(s.ctx, forge.NewPullRequest{Head: "watched", Base: "main", Title: "Watched"})
		s.must(err)
		receiver.wait(s, forge.Event{Kind: forge.EventPullRequest, Branch: "main", Commit: head, PullRequest: c.Number})
		s.must(s.repo.EnsureLabel(s.ctx, promoted))
		s.must(s.repo.AddLabels(s.ctx, c.Number, "promoted"))
		receiver.wait(s, forge.Event{Kind: s.labelEvent(), Branch: "main", Commit: head, PullRequest: c.Number})
		s.must(s.repo.SetStatus(s.ctx, head, forge.Status{Context: "ci", State: forge.Success}))
		if !slices.Contains(s.Undelivered, forge.EventStatus) {
			receiver.wait(s, forge.Event{Kind: forge.EventStatus, Commit: head})
		}
		if n := receiver.count(forge.EventStatus); n > 0 {
			s.Errorf("delivered %d times more", n)
		}
		_, err = s.repo.UpsertComment(s.ctx, c.Number, "m", "text")
		s.must(err)
		receiver.wait(s, forge.Event{Kind: forge.EventComment, PullRequest: c.Number})
		s.merge(s.repo, c)
		receiver.wait(s, forge.Event{Kind: forge.EventPullRequest, Branch: "main", Commit: head, PullRequest: c.Number})
	}},
	{"a delivery with another signature is denied", func(s *suite) {
		verifier := can[forge.WebhookVerifier](s, s.Forge)
		for _, header := range []http.Header{
			{},
			{"X-Hub-Signature-256": {"sha256=00"}, "X-Gitea-Signature": {"00"}, "X-Gitlab-Token": {"wrong"}, "X-Github-Event": {"push"}},
		} {
			for _, key := range []forge.Secret{{}, forge.NewSecret("key")} {
				_, err := verifier.VerifyWebhook(header, []byte(`{}`), key)
				s.wantKind(err, forge.ErrDenied)
			}
		}
	}},
}

// labelEvent is the kind of event that a label causes.
func (s *suite) labelEvent() forge.EventKind {
	if slices.Contains(s.Undelivered, forge.EventLabel) {
		return forge.EventPullRequest
	}
	return forge.EventLabel
}

// receiver receives the deliveries of hooks.
type receiver struct {
	*httptest.Server
	events chan forge.Event
}

func newReceiver(s *suite, v forge.WebhookVerifier, key forge.Secret) *receiver {
	r := &receiver{events: make(chan forge.Event, 1000)}
	r.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, request *http.Request) {
		body, err := io.ReadAll(request.Body)
		if err != nil {
			s.Error(err)
			return
		}
		event, err := v.VerifyWebhook(request.Header, body, key)
		if err != nil {
			s.Errorf("delivery %v %s: %v", request.Header, body, err)
			return
		}
		if _, err := v.VerifyWebhook(request.Header, append(body, ' '), key); !s.Unsigned && !errors.Is(err, forge.ErrDenied) {
			s.Errorf("a body that was changed is accepted: %v", err)
		}
		if _, err := v.VerifyWebhook(request.Header, body, forge.NewSecret(key.Reveal()+"x")); !errors.Is(err, forge.ErrDenied) {
			s.Errorf("another secret is accepted: %v", err)
		}
		r.events <- event
	}))
	s.Cleanup(r.Close)
	return r
}

// count returns the number of unread deliveries of a kind, and discards all deliveries.
func (r *receiver) count(kind forge.EventKind) int {
	n := 0
	for {
		select {
		case e := <-r.events:
			if e.Kind == kind {
				n++
			}
		default:
			return n
		}
	}
}

// wait waits for a delivery. Forges deliver other events as well, in any order.
func (r *receiver) wait(s *suite, want forge.Event) {
	s.Helper()
	want.Repository = s.repo.ID().Path
	deadline := time.NewTimer(20 * time.Second)
	defer deadline.Stop()
	var seen []forge.Event
	for {
		select {
		case e := <-r.events:
			seen = append(seen, e)
			got := forge.Event{Kind: e.Kind, Repository: e.Repository, Branch: want.Branch, Commit: want.Commit, PullRequest: e.PullRequest}
			if want.Branch != "" {
				got.Branch = e.Branch
			}
			if want.Commit != "" {
				got.Commit = e.Commit
				if len(e.Commit) >= 12 && strings.HasPrefix(want.Commit, e.Commit) { // some forges abbreviate it
					got.Commit = want.Commit
				}
			}
			if got == want {
				if e.Delivery == "" || e.Sender == "" {
					s.Errorf("no delivery or sender: %+v", e)
				}
				return
			}
		case <-deadline.C:
			s.Fatalf("not delivered: %+v; but %+v", want, seen)
		}
	}
}

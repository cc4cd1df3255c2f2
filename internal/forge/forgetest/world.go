package forgetest

import (
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/kalypso-io/kalypso/internal/forge"
)

// World is what a fake forge remembers. A fake locks it for a request, so that its parts need no locks of their own.
type World struct {
	sync.Mutex
	// Users are account names by token; Rights says what a token may do: "read", "write" or "admin".
	Users, Rights map[string]string
	// SharedNumbers makes issues and pull requests count together.
	SharedNumbers bool
	// Deliver is called for everything that happens, with the world unlocked, once a request is over.
	Deliver func(r *Repo, h forge.Hook, e Happening)

	repos   map[string]*Repo
	counter int
	now     time.Time
	queue   []func()
}

// Happening is something that hooks are told about.
type Happening struct {
	Kind        forge.EventKind
	Actor       string
	Action      string // "opened", "closed", "synchronized", "labeled"...
	PullRequest *PullRequest
	Label       string
	Branch      string
	Commit      string
	Status      forge.Status
}

// NewWorld returns a world without repositories.
func NewWorld() *World {
	return &World{
		Users: map[string]string{}, Rights: map[string]string{}, repos: map[string]*Repo{}, SharedNumbers: true,
		now: time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC),
	}
}

// Grant makes a token known.
func (w *World) Grant(token, user, right string) {
	w.Users[token], w.Rights[token] = user, right
}

// Serve answers requests, one after the other, and tells hooks about each before it is answered.
func (w *World) Serve(next http.Handler) http.Handler {
	return http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		w.Do(func() { next.ServeHTTP(out, r) })
	})
}

// Do does something to the world as a request would, and tells hooks about it.
func (w *World) Do(something func()) {
	w.Lock()
	defer func() {
		queue := w.queue
		w.queue = nil
		w.Unlock()
		for _, deliver := range queue {
			deliver()
		}
	}()
	something()
}

// tick is a time that never comes twice.
func (w *World) tick() time.Time {
	w.now = w.now.Add(time.Second)
	return w.now
}

// commit is an id that never comes twice.
func (w *World) commit() string {
	w.counter++
	sum := sha1.Sum(fmt.Append(nil, w.counter))
	return hex.EncodeToString(sum[:])
}

// Repo returns a repository by its path or number; nil if it does not exist. Case does not matter.
func (w *World) Repo(path string) *Repo {
	if id, err := strconv.Atoi(path); err == nil {
		for _, r := range w.repos {
			if r.ID == id {
				return r
			}
		}
	}
	return w.repos[strings.ToLower(path)]
}

// AddRepo creates a repository without commits; nil when it exists.
func (w *World) AddRepo(path string) *Repo {
	if w.Repo(path) != nil {
		return nil
	}
	w.counter++
	r := &Repo{
		world: w, ID: w.counter, Path: path, DefaultBranch: "main", Branches: map[string]string{}, parents: map[string][]string{},
		Statuses: map[string][]forge.Status{}, Protections: map[string]forge.Protection{},
	}
	w.repos[strings.ToLower(path)] = r
	return r
}

// Paths are those of all repositories, sorted.
func (w *World) Paths() []string {
	var paths []string
	for _, r := range w.repos {
		paths = append(paths, r.Path)
	}
	slices.Sort(paths)
	return paths
}

// RemoveRepo deletes a repository.
func (w *World) RemoveRepo(r *Repo) { delete(w.repos, strings.ToLower(r.Path)) }

// Repo is a repository of a [World].
type Repo struct {
	ID            int
	Path          string
	DefaultBranch string
	Description   string
	Private       bool
	Branches      map[string]string
	Labels        []*LabelEntry
	PullRequests  []*PullRequest
	Issues        []*Issue
	// Statuses are in the order in which they were set, by commit.
	Statuses    map[string][]forge.Status
	Protections map[string]forge.Protection
	Hooks       []forge.Hook

	world   *World
	parents map[string][]string
	numbers int
	issues  int
}

// LabelEntry is a label with the number that forges give it.
type LabelEntry struct {
	forge.Label
	ID int
}

// Commit adds a commit to a branch; one that does not exist starts at the default branch.
func (r *Repo) Commit(branch string) string {
	parent, ok := r.Branches[branch]
	if !ok {
		parent = r.Branches[r.DefaultBranch]
	}
	commit := r.world.commit()
	r.parents[commit] = []string{parent}
	r.Move(branch, commit, "somebody")
	return commit
}

// HasCommit says whether there is such a commit.
func (r *Repo) HasCommit(commit string) bool { _, ok := r.parents[commit]; return ok }

// Move makes a branch point to a commit, or deletes it when the commit is empty.
func (r *Repo) Move(branch, commit, actor string) {
	if commit == "" {
		delete(r.Branches, branch)
	} else {
		r.Branches[branch] = commit
	}
	for _, c := range r.PullRequests {
		if c.State == forge.Open && c.Head.Branch == branch && c.Head.Fork == "" && commit != "" {
			c.Head.Commit = commit
			r.Tell(Happening{Kind: forge.EventPullRequest, Actor: actor, Action: "synchronized", PullRequest: c})
		}
	}
	r.Tell(Happening{Kind: forge.EventPush, Actor: actor, Branch: branch, Commit: commit})
}

// Tell queues a delivery to every hook.
func (r *Repo) Tell(h Happening) {
	if r.world.Deliver == nil {
		return
	}
	for _, hook := range r.Hooks {
		if h.PullRequest != nil {
			seen := *h.PullRequest
			h.PullRequest = &seen
		}
		r.world.queue = append(r.world.queue, func() { r.world.Deliver(r, hook, h) })
	}
}

// BranchNames are sorted.
func (r *Repo) BranchNames() []string { return slices.Sorted(maps.Keys(r.Branches)) }

// Label finds a label; nil when there is none. Case does not matter.
func (r *Repo) Label(name string) *LabelEntry {
	for _, l := range r.Labels {
		if strings.EqualFold(l.Name, name) {
			return l
		}
	}
	return nil
}

// AddLabel creates a label; one that exists is a conflict.
func (r *Repo) AddLabel(l forge.Label) (*LabelEntry, error) {
	if r.Label(l.Name) != nil {
		return nil, refuse(forge.ErrConflict, "label already exists")
	}
	r.world.counter++
	entry := &LabelEntry{l, r.world.counter}
	r.Labels = append(r.Labels, entry)
	return entry, nil
}

// number counts changes, and issues where they count together.
func (r *Repo) number(issue bool) int {
	if issue && !r.world.SharedNumbers {
		r.issues++
		return r.issues
	}
	r.numbers++
	return r.numbers
}

// refuse is a rule's no; fakes say it in their forge's words.
func refuse(kind error, detail string) error { return &forge.Error{Kind: kind, Detail: detail} }

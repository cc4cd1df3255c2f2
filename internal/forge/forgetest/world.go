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

// World is the state of a fake forge. A fake locks it for each request, so its parts need no locks of their own.
type World struct {
	sync.Mutex
	// Users maps tokens to account names; Rights maps them to permissions: "read", "write" or "admin".
	Users, Rights map[string]string
	// SharedNumbers makes issues and pull requests share one sequence of numbers.
	SharedNumbers bool
	// Deliver is called for each event once its request is over. The world is unlocked then.
	Deliver func(r *Repo, h forge.Hook, e Event)

	repos   map[string]*Repo
	counter int
	now     time.Time
	queue   []func()
}

// Event is an event that hooks receive.
type Event struct {
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
		now: time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC),
	}
}

// Grant adds a token with an account and a permission.
func (w *World) Grant(token, user, right string) {
	w.Users[token], w.Rights[token] = user, right
}

// Serve serves requests one at a time, and notifies hooks before each answer.
func (w *World) Serve(next http.Handler) http.Handler {
	return http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		w.Do(func() { next.ServeHTTP(out, r) })
	})
}

// Do modifies the world as a request would, and notifies hooks.
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

// tick returns a unique time.
func (w *World) tick() time.Time {
	w.now = w.now.Add(time.Second)
	return w.now
}

// commit returns a unique commit ID.
func (w *World) commit() string {
	w.counter++
	sum := sha1.Sum(fmt.Append(nil, w.counter))
	return hex.EncodeToString(sum[:])
}

// Repo returns a repository by its path or number. It returns nil if it does not exist. Case does not matter.
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

// AddRepo creates a repository without commits. It returns nil if it exists.
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

// Paths returns the paths of all repositories, sorted.
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
	// Statuses maps commits to their statuses, in the order in which they were set.
	Statuses    map[string][]forge.Status
	Protections map[string]forge.Protection
	Hooks       []forge.Hook
	// Queue means that branches are merged into through a queue.
	Queue bool

	world   *World
	parents map[string][]string
	numbers int
	issues  int
}

// LabelEntry is a label with the number that the forge assigned.
type LabelEntry struct {
	forge.Label
	ID int
}

// Commit adds a commit to a branch. A branch that does not exist starts at the default branch.
func (r *Repo) Commit(branch string) string {
	parent, ok := r.Branches[branch]
	if !ok {
		parent = r.Branches[r.DefaultBranch]
	}
	commit := r.world.commit()
	r.parents[commit] = []string{parent}
	r.Move(branch, commit, "a-person")
	return commit
}

// HasCommit reports whether a commit exists.
func (r *Repo) HasCommit(commit string) bool { _, ok := r.parents[commit]; return ok }

// Move sets a branch to a commit. An empty commit deletes the branch.
func (r *Repo) Move(branch, commit, actor string) {
	if commit == "" {
		delete(r.Branches, branch)
	} else {
		r.Branches[branch] = commit
	}
	for _, c := range r.PullRequests {
		if c.State == forge.Open && c.Head.Branch == branch && c.Head.Fork == "" && commit != "" {
			c.Head.Commit = commit
			c.Version++
			c.Heads = append(c.Heads, Head{commit, r.world.tick()})
			c.Group = nil // a queue throws out what changed
			r.Tell(Event{Kind: forge.EventPullRequest, Actor: actor, Action: "synchronized", PullRequest: c})
		}
	}
	r.Tell(Event{Kind: forge.EventPush, Actor: actor, Branch: branch, Commit: commit})
}

// Tell queues a delivery to every hook.
func (r *Repo) Tell(h Event) {
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

// BranchNames returns the names of all branches, sorted.
func (r *Repo) BranchNames() []string { return slices.Sorted(maps.Keys(r.Branches)) }

// Label finds a label. It returns nil if it does not exist. Case does not matter.
func (r *Repo) Label(name string) *LabelEntry {
	return find(r.Labels, func(l *LabelEntry) bool { return strings.EqualFold(l.Name, name) })
}

// AddLabel creates a label. It returns a conflict if it exists.
func (r *Repo) AddLabel(l forge.Label) (*LabelEntry, error) {
	if r.Label(l.Name) != nil {
		return nil, refuse(forge.ErrConflict, "label already exists")
	}
	r.world.counter++
	entry := &LabelEntry{l, r.world.counter}
	r.Labels = append(r.Labels, entry)
	return entry, nil
}

// number returns the next number of a pull request or issue.
func (r *Repo) number(issue bool) int {
	if issue && !r.world.SharedNumbers {
		r.issues++
		return r.issues
	}
	r.numbers++
	return r.numbers
}

// refuse returns the error of a rule. Fakes translate it for their API.
func refuse(kind error, detail string) error { return &forge.Error{Kind: kind, Detail: detail} }

// Wait moves the time forward.
func (w *World) Wait(d time.Duration) { w.now = w.now.Add(d) }

package git

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPushRemote(t *testing.T) {
	s := newServer(t)
	made, url := s.publish("gitops.git", someFiles)
	bare := &testRepo{t: t, dir: filepath.Join(s.root, "gitops.git")}
	bare.git("config", "receive.fsckObjects", "true")
	r := open(t, newClient(t, s.env()), url)
	main := resolve(t, r, "main", "")
	put := map[string]string{"dir/b.yaml": "new"}
	for i := range 150 {
		put[fmt.Sprintf("many/%d", i)] = fmt.Sprint(i)
	}
	first := mustCommit(t, r, request(main, put, "a.yaml"))
	second := mustCommit(t, r, request(first, map[string]string{"dir/b.yaml": "newer"}))
	if err := r.Push(t.Context(), "kalypso/dev", "", second); err != nil {
		t.Fatal(err)
	}
	if got := bare.git("rev-parse", "kalypso/dev", "kalypso/dev~1", "kalypso/dev~2"); got != second.Hash+"\n"+first.Hash+"\n"+main.Hash {
		t.Errorf("the remote has\n%s", got)
	}
	bare.git("fsck", "--strict")
	// Pushed objects are known: nothing is fetched for them.
	before := s.packs.Load()
	if c := resolve(t, r, "kalypso/dev", ""); c.Hash != second.Hash || s.packs.Load() != before {
		t.Errorf("resolved %s", c.Hash)
	}
	// A pull request's branch is rebuilt on a new base: not a fast-forward, but still under lease.
	head := made.commit("base moved", map[string]string{"z": "z"})
	made.git("push", "-q", "origin", "main")
	rebuilt := mustCommit(t, r, request(resolve(t, r, "main", ""), map[string]string{"dir/b.yaml": "newest"}))
	if err := r.Push(t.Context(), "kalypso/dev", second.Hash, rebuilt); err != nil {
		t.Fatal(err)
	}
	if got := bare.git("rev-parse", "kalypso/dev~1"); got != head {
		t.Errorf("the remote has %s, want %s", got, head)
	}
}

func TestPushRemoteMoved(t *testing.T) {
	s := newServer(t)
	made, url := s.publish("gitops.git", someFiles)
	r := open(t, newClient(t, s.env()), url)
	main := resolve(t, r, "main", "")
	next := mustCommit(t, r, request(main, map[string]string{"x": "y"}))
	wantKind(t, r.Push(t.Context(), "main", "", next), ErrMoved)
	wantKind(t, r.Push(t.Context(), "new", main.Hash, next), ErrMoved)
	theirs := made.commit("theirs", map[string]string{"t": "t"})
	made.git("push", "-q", "origin", "main")
	wantKind(t, r.Push(t.Context(), "main", main.Hash, next), ErrMoved, "another user or program", "run the command again")
	// The server would not notice this one: nothing would be sent to it.
	wantKind(t, r.Push(t.Context(), "main", main.Hash, main), ErrMoved, "another user or program")
	if c := resolve(t, r, "main", ""); c.Hash != theirs {
		t.Errorf("main is %s", c.Hash)
	}
}

// If the branch moves between the server's greeting and the push, the server refuses, and its message shows the reason.
func TestPushRemoteMovedInTheLastMoment(t *testing.T) {
	s := newServer(t)
	_, url := s.publish("gitops.git", someFiles)
	r := open(t, newClient(t, s.env()), url)
	main := resolve(t, r, "main", "")
	// The hook runs after the greeting and before the references are compared.
	hook := "#!/bin/sh\nunset GIT_QUARANTINE_PATH\ngit update-ref refs/heads/main $(git commit-tree -m theirs " + main.Hash + "^{tree})\n"
	writeHook(t, filepath.Join(s.root, "gitops.git"), "GIT_AUTHOR_NAME=x; GIT_AUTHOR_EMAIL=x; GIT_COMMITTER_NAME=x; GIT_COMMITTER_EMAIL=x; export GIT_AUTHOR_NAME GIT_AUTHOR_EMAIL GIT_COMMITTER_NAME GIT_COMMITTER_EMAIL", hook)
	err := r.Push(t.Context(), "main", main.Hash, mustCommit(t, r, request(main, map[string]string{"x": "y"})))
	wantKind(t, err, ErrMoved)
}

func TestPushRemoteDenied(t *testing.T) {
	s := newServer(t)
	_, url := s.publish("gitops.git", someFiles)
	r := open(t, newClient(t, s.env()), url)
	main := resolve(t, r, "main", "")
	next := mustCommit(t, r, request(main, map[string]string{"x": "y"}))
	writeHook(t, filepath.Join(s.root, "gitops.git"), "", "#!/bin/sh\necho 'main is protected, "+testToken+"' >&2\nexit 1\n")
	err := r.Push(t.Context(), "main", main.Hash, next)
	wantKind(t, err, ErrDenied, "pre-receive hook declined", "main is protected, ***")
	// Reading may be public; pushing still needs a credential.
	s.open.Store(false)
	anonymous := newClient(t, nil)
	anonymous.CacheDir = r.client.CacheDir
	wantKind(t, open(t, anonymous, url).Push(t.Context(), "main", main.Hash, next), ErrInvalid)
}

func writeHook(t *testing.T, dir, environment, script string) {
	t.Helper()
	if environment != "" {
		script = "#!/bin/sh\n" + environment + "\n" + script
	}
	path := filepath.Join(dir, "hooks", "pre-receive")
	writeFiles(t, dir, map[string]string{"hooks/pre-receive": script})
	if err := os.Chmod(path, 0o755); err != nil {
		t.Fatal(err)
	}
}

// A new repository on a forge is empty until the first push.
func TestPushToEmptyRemote(t *testing.T) {
	s := newServer(t)
	_, url := s.publish("new.git", nil)
	r := open(t, newClient(t, s.env()), url)
	_, err := r.Resolve(t.Context(), "main", "")
	wantKind(t, err, ErrEmpty)
	branches, err := r.Branches(t.Context())
	if len(branches) > 0 || err != nil {
		t.Error(branches, err)
	}
	c := mustCommit(t, r, request(Commit{}, map[string]string{"a/b": "1"}))
	if err := r.Push(t.Context(), "main", "", c); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"a/b": "1"}, contents(t, r.Tree(resolve(t, r, "main", "")))); diff != "" {
		t.Error(diff)
	}
}

// Servers take manifests that are deltas of each other, and other clients get them back.
func TestPushOfDeltas(t *testing.T) {
	s := newServer(t)
	_, url := s.publish("gitops.git", someFiles)
	bare := &testRepo{t: t, dir: filepath.Join(s.root, "gitops.git")}
	bare.git("config", "receive.fsckObjects", "true")
	put := map[string]string{}
	for i := range 150 {
		put[fmt.Sprintf("many/%03d.yaml", i)] = fmt.Sprintf("kind: ConfigMap\napiVersion: v1\nmetadata:\n  name: config-%d\ndata:\n%s", i, strings.Repeat("  key: value\n", 30))
	}
	for _, limit := range []string{"1", "10000"} { // the server keeps the pack, or unpacks it
		bare.git("config", "receive.unpackLimit", limit)
		r := open(t, newClient(t, s.env()), url)
		c := mustCommit(t, r, request(resolve(t, r, "main", ""), put))
		if err := r.Push(t.Context(), "deltas-"+limit, "", c); err != nil {
			t.Fatal(err)
		}
		bare.git("fsck", "--strict")
		other := open(t, newClient(t, s.env()), url)
		want := maps.Clone(put)
		maps.Copy(want, someFiles)
		if diff := cmp.Diff(want, contents(t, other.Tree(resolve(t, other, "deltas-"+limit, "")))); diff != "" {
			t.Error(diff)
		}
	}
}

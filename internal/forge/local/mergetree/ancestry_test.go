package mergetree

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/plumbing/storer"
	"github.com/go-git/go-git/v5/storage/memory"
	"pgregory.net/rapid"
)

// history stores commits by name.
type history struct {
	storer.EncodedObjectStorer
	commits map[string]plumbing.Hash
	parents map[string][]string
	names   map[plumbing.Hash]string
}

// newHistory stores commits, given as "name parent parent", each a minute after the one before.
func newHistory(t interface{ Fatal(...any) }, lines ...string) *history {
	h := &history{memory.NewStorage(), map[string]plumbing.Hash{}, map[string][]string{}, map[plumbing.Hash]string{}}
	for i, line := range lines {
		names := strings.Fields(line)
		when := object.Signature{When: time.Unix(1e9+int64(i)*60, 0)}
		c := &object.Commit{Author: when, Committer: when, Message: names[0]}
		for _, parent := range names[1:] {
			c.ParentHashes = append(c.ParentHashes, h.commits[parent])
		}
		o := h.NewEncodedObject()
		if err := c.Encode(o); err != nil {
			t.Fatal(err)
		}
		hash, err := h.SetEncodedObject(o)
		if err != nil {
			t.Fatal(err)
		}
		h.commits[names[0]], h.parents[names[0]], h.names[hash] = hash, names[1:], names[0]
	}
	return h
}

func TestBase(t *testing.T) {
	h := newHistory(t,
		"root", "a root", "b a", "main b", "x a", "feature x", "merged main feature", "later merged", "other", "crossed feature main")
	for _, tc := range []struct{ a, b, want string }{
		{"main", "feature", "a"},
		{"main", "main", "main"},
		{"main", "b", "b"},
		{"later", "feature", "feature"},
		{"later", "x", "x"},
		{"root", "later", "root"},
		{"other", "main", ""},
		{"merged", "crossed", "feature"}, // of two that are as good, the youngest
	} {
		for _, sides := range [][2]string{{tc.a, tc.b}, {tc.b, tc.a}} {
			got, err := Base(h, h.commits[sides[0]], h.commits[sides[1]])
			if err != nil || h.names[got] != tc.want {
				t.Errorf("%v: got %q, %v; want %q", sides, h.names[got], err, tc.want)
			}
		}
	}
	if _, err := Base(h, h.commits["main"], plumbing.NewHash(strings.Repeat("d", 40))); err == nil {
		t.Error("a commit that is not there has a base")
	}
}

// TestContainsProperty: in random histories, contained is exactly what can be reached.
func TestContainsProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var lines []string
		for i := range rapid.IntRange(2, 12).Draw(t, "commits") {
			line := fmt.Sprint("c", i)
			for _, parent := range rapid.SliceOfNDistinct(rapid.IntRange(0, max(0, i-1)), 0, min(i, 2), rapid.ID[int]).Draw(t, "parents") {
				line += fmt.Sprint(" c", parent)
			}
			lines = append(lines, line)
		}
		h := newHistory(t, lines...)
		for a := range h.commits {
			reached := map[string]bool{}
			h.reach(a, reached)
			for b := range h.commits {
				got, err := Contains(h, h.commits[a], h.commits[b])
				if err != nil || got != reached[b] {
					t.Fatalf("%v: does %s contain %s: got %v, %v", lines, a, b, got, err)
				}
			}
		}
	})
}

func (h *history) reach(name string, reached map[string]bool) {
	reached[name] = true
	for _, parent := range h.parents[name] {
		h.reach(parent, reached)
	}
}

// TestYoungHistoryIsEnough: the walk does not go down to the root.
func TestYoungHistoryIsEnough(t *testing.T) {
	lines := []string{"c0"}
	for i := range 2000 {
		lines = append(lines, fmt.Sprintf("c%d c%d", i+1, i))
	}
	h := newHistory(t, append(lines, "x c1999")...)
	counted := &counting{EncodedObjectStorer: h}
	if got, err := Base(counted, h.commits["x"], h.commits["c2000"]); err != nil || h.names[got] != "c1999" {
		t.Errorf("got %q, %v", h.names[got], err)
	}
	if counted.reads > 10 {
		t.Errorf("%d commits were read", counted.reads)
	}
}

type counting struct {
	storer.EncodedObjectStorer
	reads int
}

func (c *counting) EncodedObject(t plumbing.ObjectType, h plumbing.Hash) (plumbing.EncodedObject, error) {
	c.reads++
	return c.EncodedObjectStorer.EncodedObject(t, h)
}

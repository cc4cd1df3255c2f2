package giteatest

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/forgetest"
	"github.com/kalypso-io/kalypso/internal/forge/gitea"
	"github.com/kalypso-io/kalypso/internal/forge/rest"
	"github.com/kalypso-io/kalypso/internal/forge/transport"
)

// Real is a running Gitea with existing accounts.
type Real struct {
	URL string // required
	// Token has all permissions; Person belongs to another user, an administrator; Weak is read-only.
	Token, Person, Weak forge.Secret // required
	// Organization exists, and the token can create repositories in it.
	Organization string // required
}

// Harness returns the forge to run the rules against. Repositories are named after the time, and are not deleted.
func (real Real) Harness(t *testing.T) forgetest.Harness {
	h := &realHarness{real: real, counter: time.Now().UnixNano()}
	return forgetest.Harness{
		Forge: h.forge(t, real.Token), Person: h.forge(t, real.Person), Weak: h.forge(t, real.Weak), Owner: real.Organization,
		NewRepository: h.newRepository, Commit: h.commit, Put: h.put, Notes: h.notes, Fork: h.fork, Eventually: forgetest.Eventually,
	}
}

type realHarness struct {
	real    Real
	counter int64
}

func (h *realHarness) forge(t *testing.T, token forge.Secret) *gitea.Forge {
	t.Helper()
	f, err := gitea.New(gitea.Options{URL: h.real.URL, Token: token})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func (h *realHarness) newRepository(t *testing.T) string {
	t.Helper()
	name := fmt.Sprint("rules-", h.counter)
	_, err := h.forge(t, h.real.Token).CreateRepository(t.Context(), forge.NewRepository{Owner: h.real.Organization, Name: name})
	if err != nil {
		t.Fatal(err)
	}
	url := h.real.URL + "/" + h.real.Organization + "/" + name
	h.commit(t, url, "main")
	return url
}

// commit adds a file through the API, which makes a commit without git.
func (h *realHarness) commit(t *testing.T, url, branch string) string {
	t.Helper()
	return h.commitAs(t, h.real.Token, url, branch)
}

func (h *realHarness) put(t *testing.T, url, branch, file, text string) {
	t.Helper()
	h.putAs(t, h.real.Token, url, branch, file, text)
}

// notes reads all comments of all reviews.
func (h *realHarness) notes(t *testing.T, url string, number int) []forgetest.Note {
	t.Helper()
	var reviews []struct{ ID int }
	path := fmt.Sprintf("/pulls/%d/reviews", number)
	h.get(t, url, path, &reviews)
	notes := []forgetest.Note{}
	for _, v := range reviews {
		var comments []struct {
			Path, Body string
			Line       int `json:"position"`
		}
		h.get(t, url, fmt.Sprintf("%s/%d/comments", path, v.ID), &comments)
		for _, c := range comments {
			notes = append(notes, forgetest.Note{File: c.Path, Line: c.Line, Text: c.Body})
		}
	}
	return notes
}

func (h *realHarness) get(t *testing.T, url, path string, out any) {
	t.Helper()
	id, err := forge.ParseID(url)
	if err != nil {
		t.Fatal(err)
	}
	err = h.client(t, h.real.Token).Do(t.Context(), rest.Request{
		Op: "read", Where: url, Path: "/repos" + rest.Path(id.Owner(), id.Name()) + path, Out: out,
	})
	if err != nil {
		t.Fatal(err)
	}
}

// fork opens a pull request from a user's fork.
func (h *realHarness) fork(t *testing.T, url, branch string) int {
	t.Helper()
	id, err := forge.ParseID(url)
	if err != nil {
		t.Fatal(err)
	}
	person, err := h.forge(t, h.real.Person).Viewer(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	client, path := h.client(t, h.real.Person), "/repos"+rest.Path(id.Owner(), id.Name())
	err = client.Do(t.Context(), rest.Request{Op: "fork", Where: url, Method: http.MethodPost, Path: path + "/forks", In: map[string]any{}})
	if err != nil {
		t.Fatal(err)
	}
	h.commitAs(t, h.real.Person, h.real.URL+"/"+person+"/"+id.Name(), branch)
	var out struct{ Number int }
	err = client.Do(t.Context(), rest.Request{
		Op: "open pull request", Where: url, Method: http.MethodPost, Path: path + "/pulls", Out: &out,
		In: map[string]any{"head": person + ":" + branch, "base": "main", "title": "From a fork"},
	})
	if err != nil {
		t.Fatal(err)
	}
	return out.Number
}

func (h *realHarness) commitAs(t *testing.T, token forge.Secret, url, branch string) string {
	t.Helper()
	h.counter++
	return h.putAs(t, token, url, branch, fmt.Sprint("file-", h.counter), fmt.Sprint(h.counter))
}

func (h *realHarness) putAs(t *testing.T, token forge.Secret, url, branch, file, text string) string {
	t.Helper()
	id, err := forge.ParseID(url)
	if err != nil {
		t.Fatal(err)
	}
	client := h.client(t, token)
	path := "/repos" + rest.Path(id.Owner(), id.Name())
	in := map[string]any{
		"branch": "main", "new_branch": branch, "message": "change",
		"files": []any{map[string]any{
			"operation": "create", "path": file, "content": base64.StdEncoding.EncodeToString([]byte(text)),
		}},
	}
	err = client.Do(t.Context(), rest.Request{Op: "read branch", Where: url, Path: path + "/branches" + rest.Path(branch)})
	if err == nil || branch == "main" {
		delete(in, "new_branch")
		in["branch"] = branch
	} else if !errors.Is(err, forge.ErrNotFound) {
		t.Fatal(err)
	}
	var out struct {
		Commit struct {
			SHA string `json:"sha"`
		} `json:"commit"`
	}
	err = client.Do(t.Context(), rest.Request{
		Op: "commit", Where: url, Method: http.MethodPost, Path: path + "/contents", In: in, Out: &out,
	})
	if err != nil {
		t.Fatal(err)
	}
	return out.Commit.SHA
}

func (h *realHarness) client(t *testing.T, token forge.Secret) *rest.Client {
	t.Helper()
	site, err := forge.ParseSite(h.real.URL)
	if err != nil {
		t.Fatal(err)
	}
	return &rest.Client{Base: site.URL() + "/api/v1", HTTP: transport.New(transport.Config{
		Site: site, Authorize: func(r *http.Request) error {
			r.Header.Set("Authorization", "token "+token.Reveal())
			return nil
		},
	}).Client()}
}

package azuredevops

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/rest"
)

// none is the commit of a branch that does not exist.
var none = strings.Repeat("0", 40)

// CreateBranch creates a branch at a commit.
func (r *Repository) CreateBranch(ctx context.Context, name, commit string) error {
	return forge.IgnoreSame(r.move(ctx, "create branch", name, none, commit), commit, func() (string, error) {
		return r.head(ctx, name)
	})
}

// DeleteBranch deletes a branch.
func (r *Repository) DeleteBranch(ctx context.Context, name string) error {
	at, err := r.head(ctx, name)
	if err != nil || at == none {
		return err
	}
	return r.move(ctx, "delete branch", name, at, none)
}

// head returns a branch's commit. The API's filter matches prefixes, so it returns other branches, too.
func (r *Repository) head(ctx context.Context, name string) (string, error) {
	var refs values[struct {
		Name string `json:"name"`
		At   string `json:"objectId"`
	}]
	err := r.do(ctx, rest.Request{Op: "read branch", Path: "/refs", Query: url.Values{"filter": {"heads/" + name}}, Out: &refs})
	if err != nil {
		return "", err
	}
	for _, ref := range refs.Value {
		if ref.Name == heads+name {
			return ref.At, nil
		}
	}
	return none, nil
}

// move moves a branch from one commit to another.
// The API answers 200 even if it fails; the result is in the body.
func (r *Repository) move(ctx context.Context, op, name, from, to string) error {
	var results values[struct {
		Success bool   `json:"success"`
		Status  string `json:"updateStatus"`
	}]
	err := r.do(ctx, rest.Request{
		Op: op, Right: branchWrite, Method: http.MethodPost, Path: "/refs", Out: &results, Repeatable: true,
		In: []map[string]any{{"name": heads + name, "oldObjectId": from, "newObjectId": to}},
	})
	if err != nil {
		return err
	}
	for _, result := range results.Value {
		switch {
		case result.Success:
		case strings.Contains(strings.ToLower(result.Status), "permission"):
			e := r.Fail(forge.ErrDenied, op, result.Status)
			e.Right, e.Hint = branchWrite, "give the token this right"
			return e
		default:
			return r.Fail(forge.ErrConflict, op, result.Status)
		}
	}
	return nil
}

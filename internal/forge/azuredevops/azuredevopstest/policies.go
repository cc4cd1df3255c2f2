package azuredevopstest

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"

	"github.com/kalypso-io/kalypso/internal/forge/forgetest"
)

const (
	reviewersPolicy = "fa4e907d-c16b-4a4c-9dfa-4906e5d171dd"
	statusPolicy    = "cbdc66da-9728-4af8-aada-9a5a32e4a226"
)

// byID finds a repository by the id used in policies. It returns nil if it does not exist.
func (s *Server) byID(id string) *forgetest.Repo {
	for repo := range s.repos {
		if guid(1, repo.ID) == id {
			return repo
		}
	}
	return nil
}

// at returns a value from nested objects and lists: at(p, "settings", "scope", 0, "refName").
func at(value any, path ...any) any {
	for _, step := range path {
		switch v := value.(type) {
		case map[string]any:
			key, _ := step.(string)
			value = v[key]
		case []any:
			i, _ := step.(int)
			if i >= len(v) {
				return nil
			}
			value = v[i]
		default:
			return nil
		}
	}
	return value
}

// listPolicies returns pages of two, with a continuation token.
func (c *call) listPolicies() {
	query := c.Request.URL.Query()
	found := []map[string]any{}
	if repo := c.byID(query.Get("repositoryId")); repo != nil {
		for _, p := range c.extra(repo).policies {
			if at(p, "settings", "scope", 0, "refName") == query.Get("refName") {
				found = append(found, p)
			}
		}
	}
	from, _ := strconv.Atoi(query.Get("continuationToken"))
	from = min(from, len(found))
	to := min(from+2, len(found))
	if to < len(found) {
		c.Out.Header().Set("X-Ms-Continuationtoken", strconv.Itoa(to))
	}
	c.list(found[from:to])
}

func (c *call) createPolicy() {
	var in map[string]any
	c.Read(&in)
	id, _ := at(in, "settings", "scope", 0, "repositoryId").(string)
	repo := c.byID(id)
	if repo == nil || at(in, "type", "id") == nil {
		c.refuse(http.StatusBadRequest, "PolicyTypeNotFoundException", "The policy has no type, or holds nowhere.")
		return
	}
	in["id"] = float64(c.next())
	c.extra(repo).policies = append(c.extra(repo).policies, in)
	c.JSON(http.StatusOK, in)
}

func (c *call) deletePolicy() {
	for _, more := range c.repos {
		more.policies = slices.DeleteFunc(more.policies, func(p map[string]any) bool { return fmt.Sprint(p["id"]) == c.PathValue("policy") })
	}
	c.Out.WriteHeader(http.StatusNoContent)
}

// unfulfilled returns the policies that block a pull request's completion.
func (c *call) unfulfilled(pr *forgetest.PullRequest) []string {
	var names []string
	for _, p := range c.more.policies {
		if at(p, "settings", "scope", 0, "refName") != heads+pr.Base.Branch {
			continue
		}
		switch at(p, "type", "id") {
		case reviewersPolicy:
			names = append(names, "reviewers")
		case statusPolicy:
			genre, _ := at(p, "settings", "statusGenre").(string)
			name, _ := at(p, "settings", "statusName").(string)
			if s := c.more.statuses[pr][genre+"\n"+name]; s.state != "succeeded" || s.head != pr.Head.Commit {
				names = append(names, name)
			}
		}
	}
	return names
}

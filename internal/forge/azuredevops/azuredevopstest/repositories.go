package azuredevopstest

import (
	"net/http"
	"strings"

	"github.com/kalypso-io/kalypso/internal/forge/forgetest"
)

func (c *call) connectionData() {
	c.JSON(http.StatusOK, map[string]any{"authenticatedUser": map[string]any{
		"id": "id-of-" + c.Actor, "providerDisplayName": strings.ToUpper(c.Actor),
		"properties": map[string]any{"Account": map[string]any{"$type": "System.String", "$value": c.Actor + "@example.com"}},
	}})
}

func (c *call) readRepository() { c.JSON(http.StatusOK, c.shape(c.Repo)) }

// shape returns a repository as the API describes it.
func (s *Server) shape(r *forgetest.Repo) map[string]any {
	parts := strings.Split(r.Path, "/")
	return map[string]any{
		"id": guid(1, r.ID), "name": parts[2], "project": map[string]any{"id": guid(2, len(parts[1])), "name": parts[1]},
		"remoteUrl": s.URL + "/" + parts[0] + "/" + parts[1] + "/_git/" + parts[2],
	}
}

func (c *call) createRepository() {
	var in struct {
		Name string `json:"name"`
	}
	c.Read(&in)
	repo := c.World.AddRepo(c.PathValue("organization") + "/" + c.PathValue("project") + "/" + in.Name)
	if repo == nil {
		c.refuse(http.StatusConflict, "GitRepositoryNameAlreadyExistsException", "TF400948: A Git repository with the name "+in.Name+" already exists.")
		return
	}
	c.JSON(http.StatusCreated, c.shape(repo))
}

func (c *call) listRefs() {
	all := []map[string]any{}
	for _, name := range c.Repo.BranchNames() {
		if strings.HasPrefix("heads/"+name, c.Request.URL.Query().Get("filter")) {
			all = append(all, map[string]any{"name": heads + name, "objectId": c.Repo.Branches[name]})
		}
	}
	c.list(all)
}

var none = strings.Repeat("0", 40)

// moveRefs moves branches, and reports the result for each.
func (c *call) moveRefs() {
	var in []struct {
		Name string `json:"name"`
		From string `json:"oldObjectId"`
		To   string `json:"newObjectId"`
	}
	c.Read(&in)
	all := []map[string]any{}
	for _, u := range in {
		branch := strings.TrimPrefix(u.Name, heads)
		now := c.Repo.Branches[branch]
		if now == "" {
			now = none
		}
		result := "succeeded"
		switch {
		case now != u.From:
			result = "staleOldObjectId"
		case u.To == none:
			c.Repo.Move(branch, "", c.Actor)
		case !c.Repo.HasCommit(u.To):
			result = "unresolvableToCommit"
		default:
			c.Repo.Move(branch, u.To, c.Actor)
		}
		all = append(all, map[string]any{"name": u.Name, "success": result == "succeeded", "updateStatus": result})
	}
	c.list(all)
}

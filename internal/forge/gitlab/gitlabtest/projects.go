package gitlabtest

import (
	"net/http"
	"slices"

	"github.com/kalypso-io/kalypso/internal/forge"
)

// namespace returns the number of a group.
func (s *Server) namespace(path string) int {
	if i := slices.Index(s.namespaces, path); i >= 0 {
		return i + 1
	}
	s.namespaces = append(s.namespaces, path)
	return len(s.namespaces)
}

func (c *call) createProject() {
	namespace := c.number("namespace_id")
	if namespace < 1 || namespace > len(c.namespaces) {
		c.JSON(http.StatusBadRequest, map[string]any{"message": map[string]any{"namespace": []string{"is not valid"}}})
		return
	}
	repo := c.World.AddRepo(c.namespaces[namespace-1] + "/" + c.text("path"))
	if repo == nil {
		taken := []string{"has already been taken"}
		c.JSON(http.StatusBadRequest, map[string]any{"message": map[string]any{
			"project_namespace.name": taken, "name": taken, "path": taken,
		}})
		return
	}
	repo.DefaultBranch, repo.Description = c.text("default_branch"), c.text("description")
	c.JSON(http.StatusCreated, map[string]any{"id": repo.ID, "path_with_namespace": repo.Path})
}

func (c *call) readProject() {
	c.JSON(http.StatusOK, map[string]any{
		"id": c.Repo.ID, "path_with_namespace": c.Repo.Path, "default_branch": c.Repo.DefaultBranch, "description": c.Repo.Description,
		"only_allow_merge_if_pipeline_succeeds": c.project.pipelines, "only_allow_merge_if_all_discussions_are_resolved": c.project.threads,
		"merge_trains_enabled": c.Repo.Queue,
	})
}

// removeProject deletes with a delay, like GitLab.
func (c *call) removeProject() {
	c.World.RemoveRepo(c.Repo)
	c.JSON(http.StatusAccepted, map[string]any{"message": "202 Accepted"})
}

func (c *call) editProject() {
	c.project.pipelines = c.yes("only_allow_merge_if_pipeline_succeeds")
	c.readProject()
}

func (c *call) readBranch() {
	name := c.PathValue("branch")
	c.JSON(http.StatusOK, map[string]any{"name": name, "commit": map[string]any{"id": c.Repo.Branches[name]}})
}

func (c *call) createBranch() {
	name, commit := c.text("branch"), c.text("ref")
	switch {
	case c.Repo.Branches[name] != "":
		c.say(http.StatusBadRequest, "Branch already exists")
	case !c.Repo.HasCommit(commit):
		c.say(http.StatusBadRequest, "Invalid reference name: "+commit)
	default:
		c.Repo.Move(name, commit, c.Actor)
		c.JSON(http.StatusCreated, map[string]any{"name": name})
	}
}

func (c *call) deleteBranch() {
	c.Repo.Move(c.PathValue("branch"), "", c.Actor)
	c.Out.WriteHeader(http.StatusNoContent)
}

func (c *call) listHooks() {
	hooks := []map[string]any{}
	for i, h := range c.Repo.Hooks {
		hooks = append(hooks, map[string]any{"id": i + 1, "url": h.URL, "project_id": c.Repo.ID, "push_events": true})
	}
	pages(c, hooks)
}

func (c *call) createHook() {
	c.Repo.Hooks = append(c.Repo.Hooks, c.hook())
	c.JSON(http.StatusCreated, map[string]any{"id": len(c.Repo.Hooks), "url": c.text("url")})
}

func (c *call) editHook() {
	*c.Hook = c.hook()
	c.JSON(http.StatusOK, map[string]any{"id": c.Number("hook"), "url": c.text("url")})
}

func (c *call) hook() forge.Hook {
	c.project.signing[c.text("url")] = c.text("signing_token")
	return forge.Hook{URL: c.text("url"), Secret: forge.NewSecret(c.text("token"))}
}

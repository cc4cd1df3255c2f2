package gitlabtest

import (
	"encoding/json"
	"net/http"
	"strconv"

	"github.com/kalypso-io/kalypso/internal/forge"
)

func (s *Server) projectRoutes(mux *http.ServeMux) {
	mux.HandleFunc("GET /api/v4/user", func(w http.ResponseWriter, r *http.Request) {
		answer(w, http.StatusOK, account(s.actor(r)))
	})
	mux.HandleFunc("GET /api/v4/namespaces/{path}", func(w http.ResponseWriter, r *http.Request) {
		answer(w, http.StatusOK, map[string]any{"id": s.namespace(r.PathValue("path")), "full_path": r.PathValue("path")})
	})
	mux.HandleFunc("POST /api/v4/projects", s.createProject)
	s.route(mux, "GET", "", (*call).readProject)
	s.route(mux, "PUT", "", (*call).editProject)
	s.route(mux, "DELETE", "", (*call).removeProject)
	s.route(mux, "GET", "/repository/branches/{branch}", (*call).readBranch)
	s.route(mux, "POST", "/repository/branches", (*call).createBranch)
	s.route(mux, "DELETE", "/repository/branches/{branch}", (*call).deleteBranch)
	s.route(mux, "GET", "/hooks", (*call).listHooks)
	s.route(mux, "POST", "/hooks", (*call).createHook)
	s.route(mux, "PUT", "/hooks/{hook}", (*call).editHook)
}

// namespace is the number of a group, which knows its path.
func (s *Server) namespace(path string) int {
	for i, known := range s.namespaces {
		if known == path {
			return i + 1
		}
	}
	s.namespaces = append(s.namespaces, path)
	return len(s.namespaces)
}

func (s *Server) createProject(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Path      string `json:"path"`
		Namespace int    `json:"namespace_id"`
		Branch    string `json:"default_branch"`
		About     string `json:"description"`
	}
	if json.NewDecoder(r.Body).Decode(&in) != nil || in.Namespace < 1 || in.Namespace > len(s.namespaces) {
		answer(w, http.StatusBadRequest, map[string]any{"message": map[string]any{"namespace": []string{"is not valid"}}})
		return
	}
	repo := s.World.AddRepo(s.namespaces[in.Namespace-1] + "/" + in.Path)
	if repo == nil {
		taken := []string{"has already been taken"}
		answer(w, http.StatusBadRequest, map[string]any{"message": map[string]any{
			"project_namespace.name": taken, "name": taken, "path": taken,
		}})
		return
	}
	repo.DefaultBranch, repo.Description = in.Branch, in.About
	answer(w, http.StatusCreated, map[string]any{"id": repo.ID, "path_with_namespace": repo.Path})
}

func (c *call) readProject() {
	answer(c.w, http.StatusOK, map[string]any{
		"id": c.repo.ID, "path_with_namespace": c.repo.Path, "default_branch": c.repo.DefaultBranch, "description": c.repo.Description,
		"only_allow_merge_if_pipeline_succeeds": c.project.pipelines, "only_allow_merge_if_all_discussions_are_resolved": c.project.threads,
	})
}

// removeProject deletes later, as GitLab does.
func (c *call) removeProject() {
	c.World.RemoveRepo(c.repo)
	answer(c.w, http.StatusAccepted, map[string]any{"message": "202 Accepted"})
}

func (c *call) editProject() {
	c.project.pipelines = c.yes("only_allow_merge_if_pipeline_succeeds")
	c.readProject()
}

func (c *call) readBranch() {
	name := c.r.PathValue("branch")
	if c.repo.Branches[name] == "" {
		c.notFound("Branch")
		return
	}
	answer(c.w, http.StatusOK, map[string]any{"name": name, "commit": map[string]any{"id": c.repo.Branches[name]}})
}

func (c *call) createBranch() {
	name, commit := c.text("branch"), c.text("ref")
	switch {
	case c.repo.Branches[name] != "":
		say(c.w, http.StatusBadRequest, "Branch already exists")
	case !c.repo.HasCommit(commit):
		say(c.w, http.StatusBadRequest, "Invalid reference name: "+commit)
	default:
		c.repo.Move(name, commit, c.actor)
		answer(c.w, http.StatusCreated, map[string]any{"name": name})
	}
}

func (c *call) deleteBranch() {
	name := c.r.PathValue("branch")
	if c.repo.Branches[name] == "" {
		c.notFound("Branch")
		return
	}
	c.repo.Move(name, "", c.actor)
	c.w.WriteHeader(http.StatusNoContent)
}

func (c *call) listHooks() {
	hooks := []map[string]any{}
	for i, h := range c.repo.Hooks {
		hooks = append(hooks, map[string]any{"id": i + 1, "url": h.URL, "project_id": c.repo.ID, "push_events": true})
	}
	pages(c, hooks)
}

func (c *call) createHook() {
	c.repo.Hooks = append(c.repo.Hooks, c.hook())
	answer(c.w, http.StatusCreated, map[string]any{"id": len(c.repo.Hooks), "url": c.text("url")})
}

func (c *call) editHook() {
	number, _ := strconv.Atoi(c.r.PathValue("hook"))
	if number < 1 || number > len(c.repo.Hooks) {
		c.notFound("Hook")
		return
	}
	c.repo.Hooks[number-1] = c.hook()
	answer(c.w, http.StatusOK, map[string]any{"id": number, "url": c.text("url")})
}

func (c *call) hook() forge.Hook {
	c.project.signing[c.text("url")] = c.text("signing_token")
	return forge.Hook{URL: c.text("url"), Secret: forge.NewSecret(c.text("token"))}
}

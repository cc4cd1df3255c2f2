package gitlabtest

import (
	"fmt"
	"net/http"
	"slices"

	"github.com/kalypso-io/kalypso/internal/forge/forgetest"
)

type protectedBranch struct {
	push, merge int
	codeOwners  bool
}

type approvalRule struct {
	id        int
	approvals int
}

// premium hides features that a tier lacks.
func premium(serve func(*call)) func(*call) {
	return func(c *call) {
		if !c.Premium {
			c.say(http.StatusNotFound, "404 Not Found")
			return
		}
		serve(c)
	}
}

func (p *protectedBranch) shape(name string) map[string]any {
	level := func(l int) []map[string]any { return []map[string]any{{"id": 1, "access_level": l}} }
	return map[string]any{
		"id": 1, "name": name, "push_access_levels": level(p.push), "merge_access_levels": level(p.merge),
		"allow_force_push": false, "code_owner_approval_required": p.codeOwners,
	}
}

func (c *call) readProtection() {
	name := c.PathValue("name")
	p := c.project.protected[name]
	if p == nil {
		c.say(http.StatusNotFound, "404 Not found")
		return
	}
	c.JSON(http.StatusOK, p.shape(name))
}

func (c *call) protect() {
	name := c.text("name")
	if c.project.protected[name] != nil {
		c.say(http.StatusConflict, "Protected branch '"+name+"' already exists")
		return
	}
	p := &protectedBranch{
		push: c.number("push_access_level"), merge: c.number("merge_access_level"),
		codeOwners: c.Premium && c.yes("code_owner_approval_required"),
	}
	c.project.protected[name] = p
	c.JSON(http.StatusCreated, p.shape(name))
}

func (c *call) unprotect() {
	if c.project.protected[c.PathValue("name")] == nil {
		c.say(http.StatusNotFound, "404 Not found")
		return
	}
	delete(c.project.protected, c.PathValue("name"))
	c.Out.WriteHeader(http.StatusNoContent)
}

func (r *approvalRule) shape() map[string]any {
	return map[string]any{
		"id": r.id, "name": "All Members", "rule_type": "any_approver", "approvals_required": r.approvals, "protected_branches": []any{},
	}
}

func (c *call) listRules() {
	pages(c, forgetest.Shapes(c.project.rules, (*approvalRule).shape))
}

func (c *call) createRule() {
	if len(c.project.rules) > 0 {
		c.say(http.StatusBadRequest, "any-approver for the project already exists")
		return
	}
	r := &approvalRule{id: c.next(), approvals: c.number("approvals_required")}
	c.project.rules = append(c.project.rules, r)
	c.JSON(http.StatusCreated, r.shape())
}

func (c *call) editRule() {
	i := slices.IndexFunc(c.project.rules, func(r *approvalRule) bool { return r.id == c.Number("rule") })
	if i < 0 {
		c.notFound("Approval Rule")
		return
	}
	c.project.rules[i].approvals = c.number("approvals_required")
	c.JSON(http.StatusOK, c.project.rules[i].shape())
}

// ProtectByHand protects a branch of the project at a URL, as a user would.
func (s *Server) ProtectByHand(url, branch string, push, merge int) {
	s.World.Lock()
	defer s.World.Unlock()
	s.projectAt(url).protected[branch] = &protectedBranch{push: push, merge: merge}
}

// Protected returns which roles can push to and merge into a branch of the project at a URL. Empty if unprotected.
func (s *Server) Protected(url, branch string) string {
	s.World.Lock()
	defer s.World.Unlock()
	p := s.projectAt(url).protected[branch]
	if p == nil {
		return ""
	}
	return fmt.Sprintf("push %d, merge %d", p.push, p.merge)
}

func (s *Server) projectAt(url string) *project {
	return s.projectOf(s.Repo(url))
}

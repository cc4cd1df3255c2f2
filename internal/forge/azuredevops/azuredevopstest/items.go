package azuredevopstest

import (
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/kalypso-io/kalypso/internal/forge/forgetest"
)

// workItem is a work item of a project.
type workItem struct {
	id      int
	project string
	fields  map[string]any
}

func (w *workItem) shape() map[string]any {
	return map[string]any{"id": w.id, "rev": 1, "fields": w.fields}
}

func (w *workItem) tagged(tag string) bool {
	tags, _ := w.fields["System.Tags"].(string)
	return slices.ContainsFunc(strings.Split(tags, "; "), func(t string) bool { return strings.EqualFold(t, tag) })
}

// listStates returns the states of the process "Basic", whose only types are Issue and Task.
func (c *call) listStates() {
	if c.PathValue("type") != "Issue" {
		c.refuse(http.StatusNotFound, "WorkItemTypeNotFoundException", "VS402323: The work item type was not found.")
		return
	}
	c.list([]map[string]any{
		{"name": "To Do", "category": "Proposed"}, {"name": "Doing", "category": "InProgress"}, {"name": "Done", "category": "Completed"},
	})
}

var contains = regexp.MustCompile(`\[System\.Tags\] CONTAINS '((?:[^']|'')*)'`)

// query supports conditions on tags.
func (c *call) query() {
	var in struct {
		Query string `json:"query"`
	}
	c.Read(&in)
	found := []map[string]any{}
	for _, w := range slices.Backward(c.items) {
		matches := w.project == c.PathValue("project")
		for _, condition := range contains.FindAllStringSubmatch(in.Query, -1) {
			matches = matches && w.tagged(strings.ReplaceAll(condition[1], "''", "'"))
		}
		if matches {
			found = append(found, map[string]any{"id": w.id})
		}
	}
	c.JSON(http.StatusOK, map[string]any{"queryType": "flat", "workItems": found})
}

func (c *call) readItems() {
	var in struct {
		IDs []int `json:"ids"`
	}
	c.Read(&in)
	if len(in.IDs) > 200 {
		c.refuse(http.StatusBadRequest, "VssPropertyValidationException", "VS403474: There can be no more than 200 ids.")
		return
	}
	c.list(forgetest.Shapes(slices.DeleteFunc(slices.Clone(c.items), func(w *workItem) bool {
		return !slices.Contains(in.IDs, w.id)
	}), (*workItem).shape))
}

// item returns the work item that the path names. If it does not exist, item answers the request and returns nil.
func (c *call) item() *workItem {
	for _, w := range c.items {
		if w.id == c.Number("item") {
			return w
		}
	}
	c.refuse(http.StatusNotFound, "WorkItemUnauthorizedAccessException",
		"TF401232: Work item "+c.PathValue("item")+" does not exist, or you do not have permissions to read it.")
	return nil
}

func (c *call) readItem() {
	if w := c.item(); w != nil {
		c.JSON(http.StatusOK, w.shape())
	}
}

// patched applies a JSON patch and reports whether the request was one.
func (c *call) patched(w *workItem) bool {
	if c.Header.Get("Content-Type") != "application/json-patch+json" {
		c.Out.WriteHeader(http.StatusUnsupportedMediaType)
		return false
	}
	var in []struct{ Op, Path, Value string }
	c.Read(&in)
	for _, op := range in {
		w.fields[strings.TrimPrefix(op.Path, "/fields/")] = op.Value
	}
	return true
}

func (c *call) createItem() {
	w := &workItem{id: c.next(), project: c.PathValue("project"), fields: map[string]any{
		"System.State": "To Do", "System.CreatedBy": account(c.Actor),
	}}
	if c.PathValue("type") != "$Issue" {
		c.refuse(http.StatusNotFound, "WorkItemTypeNotFoundException", "VS402323: The work item type was not found.")
		return
	}
	if c.patched(w) {
		c.items = append(c.items, w)
		c.JSON(http.StatusOK, w.shape())
	}
}

func (c *call) editItem() {
	if w := c.item(); w != nil && c.patched(w) {
		c.JSON(http.StatusOK, w.shape())
	}
}

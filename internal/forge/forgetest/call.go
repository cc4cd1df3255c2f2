package forgetest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"

	"github.com/kalypso-io/kalypso/internal/forge"
)

// Call is a request to a fake forge.
type Call struct {
	*http.Request
	Out http.ResponseWriter
	// Actor is the account that sends it.
	Actor string
	// What the path names; nil where it names nothing of the kind.
	Repo    *Repo
	Pull    *PullRequest
	Issue   *Issue
	Comment *forge.Comment
	Note    *Note
	Hook    *forge.Hook
}

// JSON answers. A nil body is none.
func (c *Call) JSON(status int, body any) {
	c.Out.Header().Set("Content-Type", "application/json; charset=utf-8")
	c.Out.WriteHeader(status)
	if body != nil {
		_ = json.NewEncoder(c.Out).Encode(body)
	}
}

// Read decodes the request's body; one that does not decode leaves in as it is.
func (c *Call) Read(in any) { _ = json.NewDecoder(c.Body).Decode(in) }

// Number is a part of the path that is a number; 0 when it is none.
func (c *Call) Number(name string) int {
	n, _ := strconv.Atoi(c.PathValue(name))
	return n
}

// Page returns the page of a list that is asked for, and names the next one in a header, as most forges do:
// pages count from 1, and are as long as the parameter size says, and most at most.
func Page[T any](c *Call, all []T, size string, most int) []T {
	query := c.URL.Query()
	limit, err := strconv.Atoi(query.Get(size))
	if err != nil {
		limit = 30
	}
	limit = min(max(limit, 1), most)
	page, _ := strconv.Atoi(query.Get("page"))
	page = max(page, 1)
	from, to := min((page-1)*limit, len(all)), min(page*limit, len(all))
	if to < len(all) {
		query.Set("page", strconv.Itoa(page+1))
		// The forge's own name for itself need not be ours for it.
		next := fmt.Sprintf("http://forge.internal%s?%s", c.URL.Path, query.Encode())
		c.Out.Header().Set("Link", "<"+next+`>; rel="next", <http://forge.internal/last>; rel="last"`)
	}
	return slices.Concat([]T{}, all[from:to])
}

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
	// What the path names. Nil if it does not name one, or if it does not exist.
	Repo    *Repo
	Pull    *PullRequest
	Issue   *Issue
	Comment *forge.Comment
	Note    *Note
	Hook    *forge.Hook
}

// JSON answers with a status and a body. A nil body sends an empty answer.
func (c *Call) JSON(status int, body any) {
	c.Out.Header().Set("Content-Type", "application/json; charset=utf-8")
	c.Out.WriteHeader(status)
	if body != nil {
		_ = json.NewEncoder(c.Out).Encode(body)
	}
}

// Read decodes the request's body. If that fails, in stays unchanged.
func (c *Call) Read(in any) { _ = json.NewDecoder(c.Body).Decode(in) }

// Number returns a number in the path. It returns 0 if that part is not a number.
func (c *Call) Number(name string) int {
	n, _ := strconv.Atoi(c.PathValue(name))
	return n
}

// Shapes converts the elements of a list to objects of an API. The result is never nil.
func Shapes[T any](all []T, shape func(T) map[string]any) []map[string]any {
	shapes := []map[string]any{}
	for _, element := range all {
		shapes = append(shapes, shape(element))
	}
	return shapes
}

// find returns the first element that matches, or the zero value.
func find[T any](all []T, matches func(T) bool) (found T) {
	if i := slices.IndexFunc(all, matches); i >= 0 {
		found = all[i]
	}
	return found
}

// Page returns the requested page of a list, and links the next one in a header, as most forges do.
// Pages count from 1. The parameter called size sets their length, which is at most most.
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
		// A forge's own address can differ from the one clients use.
		next := fmt.Sprintf("http://forge.internal%s?%s", c.URL.Path, query.Encode())
		c.Out.Header().Set("Link", "<"+next+`>; rel="next", <http://forge.internal/last>; rel="last"`)
	}
	return append([]T{}, all[from:to]...) // never null
}

package api

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/kalypso-io/kalypso/internal/observing"
)

// answer is what a question is answered with.
type answer struct {
	body any
	// next is where the next page begins; empty for the last one, and for what is no list.
	next string
}

// list answers with a page. The place where the next one begins is hidden in it.
func list[T any](page observing.Page[T], err error) (answer, error) {
	if err != nil {
		return answer{}, err
	}
	page.Next = encodeCursor(page.Next)
	if page.Items == nil {
		page.Items = []T{}
	}
	return answer{body: page, next: page.Next}, nil
}

// one answers with something that is no list.
func one[T any](body T, err error) (answer, error) { return answer{body: body}, err }

// write sends an answer, or that it is the one that the client has already. The answer is of who asked: nobody else's
// cache keeps it, and their own asks whether it is still so.
func (a answer) write(ctx huma.Context) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(a.body); err != nil {
		panic(err) // a type of ours that is no JSON; the shield answers
	}
	sum := sha256.Sum256(text.Bytes())
	tag := `"` + hex.EncodeToString(sum[:12]) + `"`
	ctx.SetHeader("ETag", tag)
	ctx.SetHeader("Cache-Control", "private, no-cache")
	ctx.SetHeader("Vary", "Authorization, Cookie")
	if a.next != "" {
		ctx.SetHeader("Link", link(ctx.URL(), a.next))
	}
	if matches(ctx.Header("If-None-Match"), tag) {
		ctx.SetStatus(http.StatusNotModified)
		return
	}
	ctx.SetHeader("Content-Type", "application/json")
	ctx.SetStatus(http.StatusOK)
	_, _ = ctx.BodyWriter().Write(text.Bytes()) // whoever asked may be gone
}

// matches says whether a header If-None-Match names a tag.
func matches(header, tag string) bool {
	for _, one := range strings.Split(header, ",") {
		one = strings.TrimSpace(one)
		if one == "*" || strings.TrimPrefix(one, "W/") == tag {
			return true
		}
	}
	return false
}

package api

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/kalypso-io/kalypso/internal/hub/query"
)

// answer is what a question is answered with.
type answer struct {
	body any
	// next is where the next page begins; empty for the last one, and for what is no list.
	next string
}

// list answers with a page. The place where the next one begins is hidden in it.
func list[T any](page query.Page[T], err error) (answer, error) {
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

// encode writes an answer as JSON.
func (a answer) encode() ([]byte, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(a.body)
	return text.Bytes(), err
}

// write sends an answer, or that it is the one that the client has already. The answer is for who asked: nobody else's
// cache keeps it, and their own asks whether it is still so.
func (a answer) write(w http.ResponseWriter, r *http.Request, text []byte) {
	sum := sha256.Sum256(text)
	tag := `"` + hex.EncodeToString(sum[:12]) + `"`
	header := w.Header()
	header.Set("ETag", tag)
	header.Set("Cache-Control", "private, no-cache")
	header.Set("Vary", "Authorization, Cookie")
	if a.next != "" {
		header.Set("Link", link(*r.URL, a.next))
	}
	if matches(r.Header.Values("If-None-Match"), tag) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	header.Set("Content-Type", "application/json")
	_, _ = w.Write(text) // whoever asked may be gone
}

// matches says whether headers If-None-Match name a tag.
func matches(headers []string, tag string) bool {
	for _, one := range strings.Split(strings.Join(headers, ","), ",") {
		one = strings.TrimSpace(one)
		if one == "*" || strings.TrimPrefix(one, "W/") == tag {
			return true
		}
	}
	return false
}

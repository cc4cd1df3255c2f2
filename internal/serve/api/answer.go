package api

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
)

// encode returns an answer as JSON.
func encode(body any) ([]byte, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(body)
	return text.Bytes(), err
}

// writeAnswer sends an encoded answer, or 304 if the client has it. Only the client's own cache may keep it, and must revalidate it.
func writeAnswer(w http.ResponseWriter, r *http.Request, body any, text []byte) {
	sum := sha256.Sum256(text)
	tag := `"` + hex.EncodeToString(sum[:12]) + `"`
	header := w.Header()
	header.Set("ETag", tag)
	header.Set("Cache-Control", "private, no-cache")
	header.Set("Vary", "Authorization, Cookie")
	if page, ok := body.(interface{ NextPage() string }); ok && page.NextPage() != "" {
		header.Set("Link", link(*r.URL, page.NextPage()))
	}
	if matches(r.Header.Values("If-None-Match"), tag) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	header.Set("Content-Type", "application/json")
	_, _ = w.Write(text) // the client may be gone
}

// link returns the Link header with the next page of the list at u.
func link(u url.URL, next string) string {
	q := u.Query()
	q.Set("after", next)
	return "<" + u.EscapedPath() + "?" + q.Encode() + `>; rel="next"`
}

// matches reports whether If-None-Match headers contain a tag.
func matches(headers []string, tag string) bool {
	for one := range strings.SplitSeq(strings.Join(headers, ","), ",") {
		one = strings.TrimSpace(one)
		if one == "*" || strings.TrimPrefix(one, "W/") == tag {
			return true
		}
	}
	return false
}

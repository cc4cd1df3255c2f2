package web

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strings"
)

// staticFiles names the files that pages load.
const staticFiles = "kalypso.css kalypso.js kalypso.svg"

// contentTypes maps file extensions to content types.
var contentTypes = map[string]string{"css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8", "svg": "image/svg+xml"}

// assetAddress returns the address of a static file. It changes with the content, so browsers may cache it.
func assetAddress(name string) string {
	text, _ := files.ReadFile("pages/" + name) // it is embedded
	sum := sha256.Sum256(text)
	return "/-/" + name + "?v=" + hex.EncodeToString(sum[:6])
}

func serveStatic(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("file")
	_, end, _ := strings.Cut(name, ".")
	text, err := files.ReadFile("pages/" + name)
	contentType := contentTypes[end]
	if err != nil || contentType == "" {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Cache-Control", "public, max-age=300")
	if r.URL.Query().Get("v") != "" {
		w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	send(w, r, http.StatusOK, contentType, tagOf(text), text, nil)
}

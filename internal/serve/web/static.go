package web

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strings"
)

// staticFiles are the names of what pages load.
const staticFiles = "kalypso.css kalypso.js kalypso.svg"

// contentTypes are those of the files, by the end of their names.
var contentTypes = map[string]string{"css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8", "svg": "image/svg+xml"}

// assetAddress is where a file is. It changes with the file, so that browsers may keep it for long.
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

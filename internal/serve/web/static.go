package web

import (
	"net/http"
	"slices"

	"github.com/kalypso-io/kalypso/internal/text/look"
)

// script is the file that keeps pages up to date. All other files that pages load are those of package look.
const script = "kalypso.js"

// staticFiles names the files that pages load.
func staticFiles() []string { return append(look.Names(), script) }

// scriptAddress returns the address of the script. It changes with the content, so browsers may cache it.
func scriptAddress() string {
	text, _ := files.ReadFile("pages/" + script) // it is embedded
	return "/-/" + script + "?v=" + look.Version(text)
}

func serveStatic(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("file")
	if !slices.Contains(staticFiles(), name) {
		http.NotFound(w, r)
		return
	}
	text, contentType := look.Read(name)
	if name == script {
		text, _ = files.ReadFile("pages/" + script) // it is embedded
		contentType = "text/javascript; charset=utf-8"
	}
	w.Header().Set("Cache-Control", "public, max-age=300")
	if r.URL.Query().Get("v") != "" || contentType == look.Font {
		w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	if contentType == look.Font {
		r.Header.Del("Accept-Encoding") // it is compressed
	}
	send(w, r, http.StatusOK, contentType, tagOf(text), text, nil)
}

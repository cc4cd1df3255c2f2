// Package look has what the pages of the server and of the embedded forge share: a style sheet, fonts, an icon, and the shell around
// each page, with its navigation and its bar.
//
//	┌──────┬──────────────────────────────┐
//	│      │ bar: place, search, user     │
//	│ rail ├──────────────────────────────┤
//	│      │ main part of the page        │
//	└──────┴──────────────────────────────┘
//
// Everything is embedded and served by the program, so that pages load nothing from elsewhere.
//
// # Fonts
//
// files/inter.woff2 and files/mono.woff2 are Inter and JetBrains Mono, in the subset for Latin script of the packages
// @fontsource-variable/inter and @fontsource-variable/jetbrains-mono, version 5.3.0. Both have the SIL Open Font License; its text is
// beside them. A test has their hashes.
package look

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"html/template"
	"strings"
)

//go:embed files
var files embed.FS

//go:embed shell.html
var shell string

// Font is the content type of fonts.
const Font = "font/woff2"

// types maps file extensions to content types.
var types = map[string]string{
	"css": "text/css; charset=utf-8", "svg": "image/svg+xml", "woff2": Font, "txt": "text/plain; charset=utf-8",
}

// Names are the static files that pages load.
func Names() []string {
	return []string{"kalypso.css", "kalypso.svg", "inter.woff2", "mono.woff2", "inter-license.txt", "mono-license.txt"}
}

// Read returns a static file and its content type; nil if the file does not exist.
func Read(name string) (content []byte, contentType string) {
	_, extension, _ := strings.Cut(name, ".")
	content, err := files.ReadFile("files/" + name)
	if err != nil || types[extension] == "" {
		return nil, ""
	}
	return content, types[extension]
}

// Address returns the address of a static file below a prefix. It changes with the content, so that browsers can keep the file.
func Address(base, name string) string {
	content, _ := Read(name)
	return base + "/-/" + name + "?v=" + Version(content)
}

// Version returns the version of a static file with this content.
func Version(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:6])
}

// Add adds the templates of the shell: "head" for links to the static files, "rail" and "bar". The data of each is a [Shell].
func Add(t *template.Template) *template.Template { return template.Must(t.Parse(shell)) }

// Package syntax colours text by the language that the name of its file tells.
//
//	deploy.yaml, text ─► tokens ─► lines of HTML: <span class="c-name">image</span>: <span class="c-string">web</span>
//
// What it writes is escaped, and without its tags it is the text, byte for byte: where that is not so, the text stays without
// colours, as does one that is too large, has too long lines, or takes too long. Styles are the page's: there are only classes,
//
//	c-comment c-keyword c-string c-number c-name c-meta
//
// and text that nothing is to be said about has none.
package syntax

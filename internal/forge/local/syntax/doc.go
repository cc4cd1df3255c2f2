// Package syntax highlights text. The file's name determines the language.
//
//	deploy.yaml, text ─► tokens ─► lines of HTML: <span class="c-name">image</span>: <span class="c-string">web</span>
//
// The output is escaped, and without tags it equals the text, byte for byte. A text for which that fails stays plain,
// as does one that is too large, has too long lines, or takes too long. The page defines the styles of these classes:
//
//	c-comment c-keyword c-string c-number c-name c-meta
//
// All other text has no class.
package syntax

// Package syntax highlights text. The file's name determines the language.
//
//	deploy.yaml, text ─► tokens ─► lines of HTML: <span class="c-name">image</span>: <span class="c-string">web</span>
//
// The output is escaped, and without tags it equals the text, byte for byte. A text that is too large or has too long lines stays plain.
// The page defines the styles of these classes:
//
//	c-comment c-keyword c-string c-number c-name
//
// All other text has no class. Tokens are only guessed, from comments, quotes and words, which is enough for colors: the grammars of all
// languages would be 4 MB of the program, for the few that a fleet has.
package syntax

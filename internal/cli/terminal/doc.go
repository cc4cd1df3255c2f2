// Package terminal writes for people who sit at a terminal.
//
// A [Terminal] is what a command talks to: its streams, its environment and its clock, so that a test can be one.
// What is written there is made of
//
//   - a [Style], which paints where somebody watches and does nothing in a file or a pipe,
//   - a [Table], whose columns are as wide as a terminal shows them,
//   - a [Progress] line, which appears when something takes long, and leaves nothing behind,
//   - words that all answers share: [Count], [Short], [Because].
//
// Texts come from repositories and clusters, and so from people one need not trust. [Printable] is between them and the
// terminal: nothing that they contain is obeyed. Tables do that by themselves; whatever is written without one asks for it.
package terminal

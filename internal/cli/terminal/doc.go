// Package terminal writes text for users.
//
// A [Terminal] has the streams, the environment and the clock of a command. It writes with
//
//   - a [Style], which colors text on a terminal, but not in a file or a pipe,
//   - a [Table], with columns as wide as a terminal displays them,
//   - a [Progress] line, which appears when something takes long, and is removed afterwards.
//
// Texts from repositories and clusters are not trusted. [Printable] escapes everything in them that a terminal would
// interpret. Tables call it; other code has to.
package terminal

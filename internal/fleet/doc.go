// Package fleet turns the YAML documents of the repositories into a [Snapshot]:
// everything known about one environment at fixed commits, typed, checked, and with file and line of each object.
//
// Reading has three stages, each a pure function:
//
//	files ──Parse──► documents ──Read──► Objects of one source ──Assemble──► Snapshot of an environment
//	(bytes)          (by blob)           (main, dev, a workload)             (targets derived, extends resolved)
//
// A flow fetches the sources in order, because each names the next: the environment branch
// names main's commit, main names the workload repositories.
//
// Input is untrusted: size, nesting, aliases and numbers are bounded (see [MaxFileSize] and
// the other limits), and names that could leave a folder are refused.
// A file is parsed once while its blob is unchanged ([Cache]); Read adds what depends on the file's path.
//
// Bad input is never fatal. Every problem is a value, all are reported at once, and objects that cannot be read are
// listed in [Snapshot.Unreadable], so that nothing that depends on them is changed or removed:
// absence is not intent.
package fleet

// Package fleet turns the YAML documents of the repositories into a [Snapshot]:
// everything that is known about one environment at fixed commits, typed, checked and
// with the file and line every object comes from.
//
// Reading has three stages, each a pure function:
//
//	files ──Parse──► documents ──Read──► Objects of one source ──Assemble──► Snapshot of an environment
//	(bytes)          (by blob)           (main, dev, a workload)             (targets derived, extends resolved)
//
// A flow fetches the sources one after the other, because each names the next: the environment branch
// names main's commit, main names the workload repositories.
//
// Input is hostile until the contrary is shown: size, nesting, aliases and numbers are bounded (see [MaxFileSize] and
// its neighbours) before anything walks over them, and names that could leave a folder are refused.
// A file's content is parsed once while its blob is unchanged ([Cache]); what depends on the file's place is added by Read.
//
// Bad input is never fatal. Every problem is a value, all are reported at once, and what could not be read is
// listed in [Snapshot.Unreadable], so that nothing that depends on it is changed or removed:
// absence is not intent.
package fleet

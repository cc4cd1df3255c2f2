package fleet

import "time"

// Source is a folder of a repository at one commit, or a plain folder.
// It does not include .git, .github and similar folders, submodules, folders with a Chart.yaml,
// and files that .sourceignore or .kalypsoignore list.
type Source struct {
	// Name is for display; it becomes [Position.Source].
	Name string
	// Commit is empty for a plain folder.
	Repo, Branch, Commit string
	// Time of the commit. Zero for a plain folder.
	Time time.Time
	// Files are the YAML files, in any order.
	Files []File
}

// File is one file of a source.
type File struct {
	// Path is relative to the root of the repository, with forward slashes.
	Path string
	// ID identifies the content: the Git blob id. Equal ids mean equal bytes.
	ID string
	// Size is the number of bytes.
	Size int64
	// Symlink marks a symbolic link, which is never followed.
	Symlink bool
	// Read returns the content. It is not called if a file with this ID is cached.
	Read func() ([]byte, error)
}

package fleet

import "time"

// Source is a folder of a repository at one commit, or a plain folder.
// The edge that lists it leaves out what no reader wants to see:
// .git, .github and their like, submodules, folders with a Chart.yaml and what .sourceignore or .kalypsoignore name.
type Source struct {
	// Name is how people call it; it becomes [Position.Source].
	Name string
	// Repo, Branch and Commit say what was read. Commit is empty for a plain folder.
	Repo, Branch, Commit string
	// Time is when the commit was made; zero for a plain folder.
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
	// Symlink marks a symbolic link; its content is never followed.
	Symlink bool
	// Read returns the content. It is called only when no file with this ID was parsed before.
	Read func() ([]byte, error)
}

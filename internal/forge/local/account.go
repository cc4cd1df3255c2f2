package local

import (
	"regexp"
	"strings"
)

// Right is what an account can do. Each right includes those before it.
type Right string

// The rights.
const (
	Read Right = "read"
	// Write allows pushing, and opening, labeling, commenting on, approving and merging pull requests.
	Write Right = "write"
	// Admin allows creating repositories, protecting branches and subscribing to events.
	Admin Right = "admin"
)

// includes reports whether a right includes another one. Unknown rights include nothing.
func (r Right) includes(needed Right) bool {
	rank := map[Right]int{Read: 1, Write: 2, Admin: 3}
	return rank[r] > 0 && rank[r] >= rank[needed]
}

// Account is the identity behind an action.
type Account struct {
	Name  string // required
	Right Right  // required
	// Below restricts the account to the repositories below a path: "team", or "team/shop" for a single one.
	// Empty means all.
	Below string

	// public allows reading repositories that are not private, whatever the right.
	public bool
}

// may reports whether the account has a right in the repository at a path.
func (a Account) may(needed Right, path string) bool {
	return a.Right.includes(needed) && a.reaches(path)
}

func (a Account) reaches(path string) bool {
	below, path := strings.ToLower(a.Below), strings.ToLower(path)
	return below == "" || path == below || strings.HasPrefix(path, below+"/")
}

var namePattern = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._-]{0,99}$`)

// validName reports whether the name of an owner or repository is safe in folders and URLs.
func validName(name string) bool {
	return namePattern.MatchString(name) && !strings.Contains(name, "..") &&
		!strings.HasSuffix(name, ".") && !strings.HasSuffix(name, ".git") && !strings.HasSuffix(name, ".lock")
}

// splitPath returns the owner and name in a repository's path. ok is false if the path is not valid here.
func splitPath(path string) (owner, name string, ok bool) {
	owner, name, ok = strings.Cut(path, "/")
	return owner, name, ok && validName(owner) && validName(name)
}

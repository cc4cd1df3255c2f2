package local

import (
	"regexp"
	"strings"
)

// Right is what an account may do. Each includes those before it.
type Right string

// The rights.
const (
	Read Right = "read"
	// Write is to push, and to open, label, comment, approve and merge changes.
	Write Right = "write"
	// Admin is to create repositories, protect branches and subscribe to events.
	Admin Right = "admin"
)

// includes reports whether a right is at least another one. Unknown rights include nothing.
func (r Right) includes(needed Right) bool {
	rank := map[Right]int{Read: 1, Write: 2, Admin: 3}
	return rank[r] > 0 && rank[r] >= rank[needed]
}

// Account is who does something.
type Account struct {
	Name  string // required
	Right Right  // required
	// Below restricts the account to the repositories below a path: "team", or "team/shop" for a single one.
	// Empty means all.
	Below string
}

// may reports whether the account has a right in the repository of a path.
func (a Account) may(needed Right, path string) bool {
	return a.Right.includes(needed) && a.reaches(path)
}

func (a Account) reaches(path string) bool {
	below, path := strings.ToLower(a.Below), strings.ToLower(path)
	return below == "" || path == below || strings.HasPrefix(path, below+"/")
}

var namePattern = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._-]{0,99}$`)

// validName reports whether a name of an owner or repository is safe as a folder's and in URLs.
func validName(name string) bool {
	return namePattern.MatchString(name) && !strings.Contains(name, "..") &&
		!strings.HasSuffix(name, ".") && !strings.HasSuffix(name, ".git") && !strings.HasSuffix(name, ".lock")
}

// splitPath returns owner and name of a repository's path. It is not ok for what can be no repository here.
func splitPath(path string) (owner, name string, ok bool) {
	owner, name, ok = strings.Cut(path, "/")
	return owner, name, ok && validName(owner) && validName(name)
}

package access

import "fmt"

// Role is what somebody may do. The zero value may do nothing.
type Role string

// The roles; the package documentation says what each of them may do.
const (
	Reader   Role = "reader"
	Operator Role = "operator"
	Admin    Role = "admin"
	Cluster  Role = "cluster"
	Join     Role = "join"
)

// Roles returns all roles, those of people from the least to the most.
func Roles() []Role { return []Role{Reader, Operator, Admin, Cluster, Join} }

// rank orders the roles of people. The others have none: they include nothing but themselves.
func (r Role) rank() int {
	switch r {
	case Reader:
		return 1
	case Operator:
		return 2
	case Admin:
		return 3
	case Cluster, Join:
	}
	return 0
}

// Includes reports whether who has this role may do what the other one is needed for.
func (r Role) Includes(needed Role) bool {
	if r == "" || needed == "" {
		return false
	}
	return r == needed || needed.rank() > 0 && r.rank() >= needed.rank()
}

// ParseRole reads the name of a role.
func ParseRole(name string) (Role, error) {
	for _, r := range Roles() {
		if string(r) == name {
			return r, nil
		}
	}
	return "", fmt.Errorf("role %q is none: write reader, operator, admin, cluster or join", name)
}

// letter is how a token shows what it is good for.
func (r Role) letter() string {
	if r == "" {
		return ""
	}
	return string(r[0])
}

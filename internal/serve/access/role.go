package access

import "fmt"

// Role is a set of permissions. The zero value has none.
type Role string

// The roles, as described in the package documentation.
const (
	Reader   Role = "reader"
	Operator Role = "operator"
	// BreakGlass may override rules in an emergency, with a reason and an audit entry of its own.
	BreakGlass Role = "break-glass"
	Admin      Role = "admin"
	Cluster    Role = "cluster"
	Join       Role = "join"
	// Approver approves what a verification waits for. It is a role in workspaces, not of the server.
	Approver Role = "approver"
	// Scoped is the role of tokens that are limited to workspaces; their grants say what they allow. It includes nothing.
	Scoped Role = "scoped"
)

// GrantRoles returns the roles that a [Grant] can give, in increasing order.
func GrantRoles() []Role { return []Role{Reader, Approver, Operator, BreakGlass} }

// Roles returns all roles of the server, those of users in increasing order.
func Roles() []Role { return []Role{Reader, Operator, BreakGlass, Admin, Cluster, Join} }

// rank orders the roles of users. The others have rank 0: they include only themselves.
func (r Role) rank() int {
	switch r {
	case Reader:
		return 1
	case Approver:
		return 2
	case Operator:
		return 3
	case BreakGlass:
		return 4
	case Admin:
		return 5
	case Cluster, Join, Scoped:
	}
	return 0
}

// Includes reports whether the role allows what requires another one.
func (r Role) Includes(needed Role) bool {
	if r == "" || needed == "" {
		return false
	}
	return r == needed || needed.rank() > 0 && r.rank() >= needed.rank()
}

// ParseRole parses the name of a role.
func ParseRole(name string) (Role, error) {
	for _, r := range Roles() {
		if string(r) == name {
			return r, nil
		}
	}
	return "", fmt.Errorf("%q is not a role: want reader, operator, break-glass, admin, cluster or join", name)
}

// letter returns the letter of the role in tokens.
func (r Role) letter() string {
	if r == "" {
		return ""
	}
	return string(r[0])
}

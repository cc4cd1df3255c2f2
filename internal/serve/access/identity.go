package access

import (
	"context"
	"fmt"
	"time"
)

// Source is how a client authenticated.
type Source string

// The sources.
const (
	Anonymous Source = "anonymous"
	ByToken   Source = "token"
	ByCluster Source = "cluster"
	BySignOn  Source = "oidc"
	BySession Source = "session"
)

// Identity is an authenticated client. The zero value is anonymous and may do nothing.
type Identity struct {
	// Name is the display name: short, on one line.
	Name string `json:"name"`
	// Role is the role; empty for none.
	Role Role `json:"role,omitempty"`
	// Groups are those of the issuer's groups that have a role or a grant on this server.
	Groups []string `json:"groups,omitempty"`
	// Grants are the roles in workspaces.
	Grants []Grant `json:"grants,omitempty"`
	// Source is how the client authenticated.
	Source Source `json:"source"`
	// Cluster is the cluster of the credential, for the role cluster.
	Cluster string `json:"cluster,omitempty"`
	// Token is the ID of the token.
	Token string `json:"token,omitempty"`
	// Scope is the restriction of the token, in the format of its role.
	Scope string `json:"scope,omitempty"`
	// Expires is when the credential expires; zero means never.
	Expires time.Time `json:"expires,omitzero"`
	// Address is the client's IP address.
	Address string `json:"-"`
	// Claimed are all groups of the issuer, also those that have neither a role nor a grant at the moment.
	Claimed []string `json:"-"`
}

// Sees returns what the identity sees: with a role of the server everything, otherwise what its grants are about.
func (i Identity) Sees() Scope {
	if i.Role.Includes(Reader) {
		return Everything()
	}
	return Scope{grants: i.Grants}
}

// String returns the identity for the audit trail. The suffix distinguishes names that users choose from tokens and clusters.
func (i Identity) String() string {
	switch i.Source {
	case Anonymous, "":
		return string(Anonymous)
	case ByToken:
		return fmt.Sprintf("%s (token %s)", i.Name, i.Token)
	case BySession:
		if i.Token != "" {
			return fmt.Sprintf("%s (session of token %s)", i.Name, i.Token)
		}
	case ByCluster, BySignOn:
	}
	return fmt.Sprintf("%s (%s)", i.Name, i.Source)
}

// May returns a [Refusal] unless the identity includes a role.
func (i Identity) May(needed Role) error {
	switch {
	case i.Role.Includes(needed):
		return nil
	case i.Source == Anonymous || i.Source == "":
		return &Refusal{
			Kind: ErrUnauthenticated, What: "this needs the role " + string(needed),
			Next: "send a token: Authorization: Bearer kal_...",
		}
	case i.Role == "" && len(i.Grants) > 0:
		return &Refusal{
			Kind: ErrForbidden, What: fmt.Sprintf("%q has roles in workspaces only, and this needs the role %s of the server", i.Name, needed),
			Next: "ask an admin",
		}
	case i.Role == "":
		return &Refusal{
			Kind: ErrForbidden, What: fmt.Sprintf("%q has no role here, and this needs %s", i.Name, needed),
			Next: "ask an admin to give one of your groups a role",
		}
	}
	return &Refusal{
		Kind: ErrForbidden, What: fmt.Sprintf("%q has the role %s, and this needs %s", i.Name, i.Role, needed),
		Next: "use a token of that role, or ask an admin",
	}
}

type contextKey struct{}

// With returns a context with the client.
func With(ctx context.Context, i Identity) context.Context {
	return context.WithValue(ctx, contextKey{}, i)
}

// From returns the client in a context; the zero value if there is none.
func From(ctx context.Context) Identity {
	i, _ := ctx.Value(contextKey{}).(Identity)
	return i
}

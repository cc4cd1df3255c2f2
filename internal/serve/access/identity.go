package access

import (
	"context"
	"fmt"
	"time"
)

// Source is how somebody showed who they are.
type Source string

// The sources.
const (
	Anonymous Source = "anonymous"
	ByToken   Source = "token"
	ByCluster Source = "cluster"
	BySignOn  Source = "oidc"
	BySession Source = "session"
)

// Identity is who is asking. The zero value is nobody, who may do nothing.
type Identity struct {
	// Name is what people call them. It is on one line, and short.
	Name string `json:"name"`
	// Role is what they may do; empty means nothing.
	Role Role `json:"role,omitempty"`
	// Source is how they showed who they are.
	Source Source `json:"source"`
	// Cluster is the cluster whose credential it is, with the role of that name.
	Cluster string `json:"cluster,omitempty"`
	// Token is the ID of the token that was shown.
	Token string `json:"token,omitempty"`
	// Scope restricts a token, in the words of whoever made it.
	Scope string `json:"scope,omitempty"`
	// Expires is when what was shown ends; zero means never.
	Expires time.Time `json:"expires,omitzero"`
	// Address is where the request came from.
	Address string `json:"-"`
}

// String is the identity as the audit trail has it: names that people choose for themselves are told from those of tokens
// and clusters by what follows.
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

// May says whether somebody may do what a role is needed for; the error is a [Refusal] otherwise.
func (i Identity) May(needed Role) error {
	switch {
	case i.Role.Includes(needed):
		return nil
	case i.Source == Anonymous || i.Source == "":
		return &Refusal{
			Kind: ErrUnauthenticated, What: "this needs the role " + string(needed),
			Next: "send a token: Authorization: Bearer kal_...",
		}
	case i.Role == "":
		return &Refusal{
			Kind: ErrForbidden, What: fmt.Sprintf("%s has no role here, and this needs %s", i.Name, needed),
			Next: "ask an admin to give one of your groups a role",
		}
	}
	return &Refusal{
		Kind: ErrForbidden, What: fmt.Sprintf("%s has the role %s, and this needs %s", i.Name, i.Role, needed),
		Next: "use a token of that role, or ask an admin",
	}
}

type contextKey struct{}

// With returns a context that knows who is asking.
func With(ctx context.Context, i Identity) context.Context {
	return context.WithValue(ctx, contextKey{}, i)
}

// From returns who is asking; nobody when that was not found out.
func From(ctx context.Context) Identity {
	i, _ := ctx.Value(contextKey{}).(Identity)
	return i
}

package azuredevops

import (
	"cmp"
	"context"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/rest"
)

// identity is an account as the API describes it.
type identity struct {
	ID          string `json:"id"`
	UniqueName  string `json:"uniqueName"`
	DisplayName string `json:"displayName"`
}

func (i *identity) name() string {
	if i == nil {
		return ""
	}
	return cmp.Or(i.UniqueName, i.DisplayName)
}

// Viewer returns the token's account, by its name in [Options.Organization].
func (f *Forge) Viewer(ctx context.Context) (string, error) {
	if f.organization == "" {
		return "", nil
	}
	i, err := f.viewer(ctx, f.organization)
	return i.name(), err
}

// viewer returns the token's account in an organization. Only the organization knows its name. It is requested once.
func (f *Forge) viewer(ctx context.Context, organization string) (identity, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if known, ok := f.accounts[organization]; ok {
		return known, nil
	}
	var connection struct {
		User struct {
			ID         string `json:"id"`
			Name       string `json:"providerDisplayName"`
			Properties struct {
				Account struct {
					Value string `json:"$value"`
				} `json:"Account"`
			} `json:"properties"`
		} `json:"authenticatedUser"`
	}
	err := f.client.Do(ctx, rest.Request{
		Op: "read own account", Where: f.site.Host + "/" + organization, Path: rest.Path(organization, "_apis", "connectionData"),
		Query: preview(f.version), Out: &connection,
	})
	if err != nil {
		return identity{}, err
	}
	u := connection.User
	if u.ID == anonymous {
		return identity{}, &forge.Error{
			Kind: forge.ErrDenied, Op: "read own account", Where: f.site.Host + "/" + organization, Detail: "the forge does not know us",
			Right: "a valid token", Hint: "the token is missing, expired or revoked; configure a new one",
		}
	}
	f.accounts[organization] = identity{ID: u.ID, UniqueName: u.Properties.Account.Value, DisplayName: u.Name}
	return f.accounts[organization], nil
}

// anonymous is the account of requests without a token.
const anonymous = "aaaaaaaa-aaaa-aaaa-aaaa-aaaaaaaaaaaa"

// account returns the ID of an account; empty if it was deleted.
func (i *identity) account() string {
	if i == nil {
		return ""
	}
	return i.ID
}

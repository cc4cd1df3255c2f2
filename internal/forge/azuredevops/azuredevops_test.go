package azuredevops_test

import (
	"strings"
	"testing"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/azuredevops"
	"github.com/kalypso-io/kalypso/internal/forge/azuredevops/azuredevopstest"
	"github.com/kalypso-io/kalypso/internal/forge/forgetest"
)

var (
	_ forge.Forge           = (*azuredevops.Forge)(nil)
	_ forge.Viewer          = (*azuredevops.Forge)(nil)
	_ forge.Creator         = (*azuredevops.Forge)(nil)
	_ forge.WebhookVerifier = (*azuredevops.Forge)(nil)

	_ forge.Repository = (*azuredevops.Repository)(nil)
	_ forge.Brancher   = (*azuredevops.Repository)(nil)
	_ forge.Reviewer   = (*azuredevops.Repository)(nil)
	_ forge.Annotator  = (*azuredevops.Repository)(nil)
	_ forge.AutoMerger = (*azuredevops.Repository)(nil)
	_ forge.Protector  = (*azuredevops.Repository)(nil)
	_ forge.Hooker     = (*azuredevops.Repository)(nil)
)

// TestRules hides abilities from two rules whose assumptions do not hold on Azure DevOps, so that they are skipped.
// Other tests of this package cover the behavior there.
func TestRules(t *testing.T) {
	forgetest.Run(t, func(t *testing.T) forgetest.Harness {
		_, h := azuredevopstest.Start(t)
		f := h.Forge.(*azuredevops.Forge)
		switch t.Name()[strings.LastIndexByte(t.Name(), '/')+1:] {
		case "protection_is_read_as_it_was_set":
			h.Forge = forgeWithoutCodeOwnersAndOpenBranches{f}
		case "events_are_delivered,_signed":
			h.Forge = forgeThatDoesNotSign{f}
		}
		return h
	})
}

type forgeWithoutCodeOwnersAndOpenBranches struct{ *azuredevops.Forge }

func (f forgeWithoutCodeOwnersAndOpenBranches) Repository(url string) (forge.Repository, error) {
	r, err := f.Forge.Repository(url)
	return repositoryWithoutCodeOwnersAndOpenBranches{r}, err
}

type repositoryWithoutCodeOwnersAndOpenBranches struct{ forge.Repository }

type forgeThatDoesNotSign struct{ *azuredevops.Forge }

func (f forgeThatDoesNotSign) Repository(url string) (forge.Repository, error) {
	r, err := f.Forge.Repository(url)
	return repositoryThatDoesNotSign{r}, err
}

type repositoryThatDoesNotSign struct{ forge.Repository }

package gitlab_test

import (
	"strings"
	"testing"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/forgetest"
	"github.com/kalypso-io/kalypso/internal/forge/gitlab"
	"github.com/kalypso-io/kalypso/internal/forge/gitlab/gitlabtest"
)

var (
	_ forge.Forge           = (*gitlab.Forge)(nil)
	_ forge.Viewer          = (*gitlab.Forge)(nil)
	_ forge.Creator         = (*gitlab.Forge)(nil)
	_ forge.Remover         = (*gitlab.Repository)(nil)
	_ forge.WebhookVerifier = (*gitlab.Forge)(nil)

	_ forge.Repository     = (*gitlab.Repository)(nil)
	_ forge.Brancher       = (*gitlab.Repository)(nil)
	_ forge.Reviewer       = (*gitlab.Repository)(nil)
	_ forge.Annotator      = (*gitlab.Repository)(nil)
	_ forge.LabelHistorian = (*gitlab.Repository)(nil)
	_ forge.AutoMerger     = (*gitlab.Repository)(nil)
	_ forge.Checker        = (*gitlab.Repository)(nil)
	_ forge.Protector      = (*gitlab.Repository)(nil)
	_ forge.CodeOwned      = (*gitlab.Repository)(nil)
	_ forge.Hooker         = (*gitlab.Repository)(nil)
)

// TestRules hides the ability to protect branches from two rules, so that they are skipped. They assume that a branch
// can require a status by name, that it can be read back, and that a merge waits for it before it was ever set.
// Other tests of this package cover GitLab's protection.
func TestRules(t *testing.T) {
	forgetest.Run(t, func(t *testing.T) forgetest.Harness {
		_, h := gitlabtest.Start(t)
		switch t.Name()[strings.LastIndexByte(t.Name(), '/')+1:] {
		case "protection_is_read_as_it_was_set", "an_automatic_merge_waits_for_the_checks":
			h.Forge = forgeWithoutNamedChecks{h.Forge.(*gitlab.Forge)}
		}
		return h
	})
}

type forgeWithoutNamedChecks struct{ *gitlab.Forge }

func (f forgeWithoutNamedChecks) Repository(url string) (forge.Repository, error) {
	r, err := f.Forge.Repository(url)
	if err != nil {
		return nil, err
	}
	return repositoryWithoutNamedChecks{r, r.(forge.AutoMerger)}, nil
}

type repositoryWithoutNamedChecks struct {
	forge.Repository
	forge.AutoMerger
}

package gitlab_test

import (
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
	_ forge.WebhookVerifier = (*gitlab.Forge)(nil)

	_ forge.Repository     = (*gitlab.Repository)(nil)
	_ forge.Brancher       = (*gitlab.Repository)(nil)
	_ forge.LabelHistorian = (*gitlab.Repository)(nil)
	_ forge.AutoMerger     = (*gitlab.Repository)(nil)
	_ forge.Protector      = (*gitlab.Repository)(nil)
	_ forge.CodeOwned      = (*gitlab.Repository)(nil)
	_ forge.Hooker         = (*gitlab.Repository)(nil)
)

func TestRules(t *testing.T) {
	forgetest.Run(t, func(t *testing.T) forgetest.Harness {
		_, h := gitlabtest.Start(t)
		h.Forge = forgeWhoseProtectionCannotNameChecks{h.Forge.(*gitlab.Forge)}
		return h
	})
}

// forgeWhoseProtectionCannotNameChecks hides the ability to protect from the rules, which take for granted that a branch
// can demand a status by name. What GitLab can do is tested beside.
type forgeWhoseProtectionCannotNameChecks struct{ *gitlab.Forge }

func (f forgeWhoseProtectionCannotNameChecks) Repository(url string) (forge.Repository, error) {
	r, err := f.Forge.Repository(url)
	if err != nil {
		return nil, err
	}
	gl := r.(*gitlab.Repository)
	return repositoryWhoseProtectionCannotNameChecks{gl, gl, gl, gl, gl, gl}, nil
}

type repositoryWhoseProtectionCannotNameChecks struct {
	forge.Repository
	forge.Brancher
	forge.LabelHistorian
	forge.AutoMerger
	forge.CodeOwned
	forge.Hooker
}

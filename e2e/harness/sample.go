package harness

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
)

// SampleSite is where "kalypso sample up" has its repositories and clusters when nothing of it is simulated.
type SampleSite struct {
	// Organization owns the repositories.
	Organization string
	// Owner creates and removes repositories, Reader is the account of the clusters.
	Owner, Reader Account
	// Kubeconfig has a context for each cluster, named like it.
	Kubeconfig string

	url string
}

// NewSampleSite makes an organization on Gitea, with accounts that have the rights that they need and no others.
func (s *Stack) NewSampleSite(ctx context.Context, organization string) (*SampleSite, error) {
	folder, err := s.Lab.Folder("sample-" + organization)
	if err != nil {
		return nil, err
	}
	site := &SampleSite{Organization: organization, Kubeconfig: filepath.Join(folder, "kubeconfig"), url: s.Gitea.URL}
	if err := WriteContexts(site.Kubeconfig, s.Clusters); err != nil {
		return nil, err
	}
	site.Owner, err = s.Gitea.NewAccount(ctx, organization+"-owner", "write:organization", "write:repository", "write:issue", "read:user")
	if err != nil {
		return nil, err
	}
	// The user who creates an organization owns it.
	if err := s.Gitea.Call(ctx, site.Owner, http.MethodPost, "/orgs", map[string]any{"username": organization}, nil); err != nil {
		return nil, err
	}
	if site.Reader, err = s.Gitea.NewAccount(ctx, organization+"-reader", "read:repository"); err != nil {
		return nil, err
	}
	return site, site.LetIn(ctx, s.Gitea, site.Reader, "read")
}

// LetIn gives an account a right to all repositories of the organization, now and later: "read" or "write".
func (s *SampleSite) LetIn(ctx context.Context, g *Gitea, a Account, right string) error {
	var team struct {
		ID int `json:"id"`
	}
	err := g.Call(ctx, g.Admin, http.MethodPost, "/orgs/"+s.Organization+"/teams", map[string]any{
		"name": "all-" + right, "permission": right, "includes_all_repositories": true, "units": []string{"repo.code", "repo.pulls"},
	}, &team)
	if err != nil {
		return err
	}
	return g.Call(ctx, g.Admin, http.MethodPut, fmt.Sprintf("/teams/%d/members/%s", team.ID, a.Name), nil, nil)
}

// Args are the flags that have a sample use the site, with real clusters of the names that are given by cluster type.
func (s *SampleSite) Args(clusters ...string) []string {
	args := []string{"--forge", "gitea", "--url", s.url, "--org", s.Organization, "--prefix", "tutorial", "--token-env", "SAMPLE_TOKEN"}
	for _, c := range clusters {
		args = append(args, "--kube-context", c)
	}
	return append(args, "--cluster-token-env", "SAMPLE_READ_TOKEN")
}

// Env is the environment that goes with them.
func (s *SampleSite) Env() []string {
	return []string{"SAMPLE_TOKEN=" + s.Owner.Token, "SAMPLE_READ_TOKEN=" + s.Reader.Token, "KUBECONFIG=" + s.Kubeconfig}
}

// Ended is closed when the process has ended.
func (p *Process) Ended() <-chan struct{} { return p.done }

package e2e

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kalypso-io/kalypso/e2e/harness"
)

// TestSampleOnRealThings: the tutorial's fleet with its repositories on Gitea and with real clusters. A version and a value get
// there by the commands of the tutorial, and at the end nothing is left of it but what others made.
func TestSampleOnRealThings(t *testing.T) {
	t.Parallel()
	new(fleet).borrow(t)
	s := newSample(t)
	s.wantRefused(t)
	s.up(t)
	for _, words := range []string{
		"wait -e dev --timeout 3m",
		"sample merge gitops stage --timeout 3m",
		"sample merge hello-world-app-gitops stage --timeout 3m",
		"wait -e stage --timeout 3m",
	} {
		s.run(t, words)
	}
	for _, cluster := range []string{"drone-1", "large"} {
		if got := s.run(t, "sample greeting "+cluster+" -e stage --until testers --timeout 3m"); !strings.Contains(got, "ENVIRONMENT=Stage") {
			t.Errorf("%s shows\n%s", cluster, got)
		}
	}
	if got := s.run(t, "sample cluster"); !strings.Contains(got, "drone-1") || !strings.Contains(got, "large") {
		t.Errorf("the clusters are\n%s", got)
	}
	s.wantProtected(t, "tutorial-gitops", "stage")
	s.down(t)
}

// realSample is a sample, and what was there before it.
type realSample struct {
	*harness.SampleSite
	folder, address string
	process         *harness.Process
	program         *harness.Kalypso
}

func newSample(t *testing.T) *realSample {
	t.Helper()
	site, err := stack.NewSampleSite(t.Context(), "sample-"+strings.ToLower(rand.Text()[:5]))
	must(t, err)
	_, err = stack.Gitea.NewRepository(t.Context(), site.Organization, "tutorial-of-others")
	must(t, err)
	s := &realSample{SampleSite: site, folder: filepath.Join(t.TempDir(), "sample")}
	s.address, err = stack.Address()
	must(t, err)
	s.program = kalypso.With(site.Env()...)
	for _, c := range stack.Clusters {
		eventually(t, "nothing of another story is on "+c.Name, func(ctx context.Context) error { return nothingOfSamples(ctx, c) })
	}
	return s
}

func (s *realSample) args() []string {
	return append([]string{"sample", "up", "--dir", s.folder, "--listen", s.address}, s.Args(drone+"="+drone, large+"="+large)...)
}

// wantRefused wants to be asked before anything is installed, and nothing to be left of what nobody agreed to.
func (s *realSample) wantRefused(t *testing.T) {
	t.Helper()
	result, err := s.program.Run(t.Context(), s.args()...)
	must(t, err)
	for _, want := range []string{"Kustomization flux-system/kalypso-sample-dev", "not confirmed", "--yes", "have to reach " + stack.Gitea.URL} {
		if !strings.Contains(result.Stderr, want) {
			t.Errorf("it does not say %q:\n%s", want, result.Stderr)
		}
	}
	if _, err := os.Stat(s.folder); result.Code != 1 || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it ended with %d, and its folder is there: %v", result.Code, err)
	}
}

func (s *realSample) up(t *testing.T) {
	t.Helper()
	var err error
	s.process, err = s.program.Start("sample-"+s.Organization, append(s.args(), "--yes")...)
	must(t, err)
	t.Cleanup(func() { // only a test that ends early leaves something
		if _, err := os.Stat(s.folder); err == nil {
			_, _ = s.program.Run(context.Background(), "sample", "down", "--dir", s.folder)
			_ = s.process.Stop(context.Background())
		}
	})
	must(t, s.process.WaitServing(t.Context(), "http://"+s.address+"/readyz"))
	for _, c := range []string{"drone-1", large} {
		eventually(t, c+" reads the repository", func(context.Context) error {
			log, err := s.process.Log()
			if err == nil && !strings.Contains(log, c+" reads "+stack.Gitea.URL) {
				err = errors.New(log)
			}
			return err
		})
	}
}

// run runs a command of somebody who plays the tutorial.
func (s *realSample) run(t *testing.T, words string) string {
	t.Helper()
	args := strings.Fields(words)
	if args[0] == "sample" {
		args = append(args, "--dir", s.folder)
	}
	token, err := os.ReadFile(filepath.Join(s.folder, "data", "admin-token"))
	must(t, err)
	result, err := s.program.With("KALYPSO_SERVER=http://"+s.address, "KALYPSO_TOKEN="+strings.TrimSpace(string(token))).Run(t.Context(), args...)
	must(t, err)
	if result.Code != 0 {
		log, _ := os.ReadFile(filepath.Join(s.folder, "server.log"))
		t.Fatalf("kalypso %s ended with %d\n%s%s\nThe log of the server:\n%s", words, result.Code, result.Stdout, result.Stderr, log)
	}
	return result.Stdout
}

// wantProtected wants a branch to take pull requests only.
func (s *realSample) wantProtected(t *testing.T, repository, branch string) {
	t.Helper()
	var found struct {
		Push   bool     `json:"enable_push"`
		Checks []string `json:"status_check_contexts"`
	}
	must(t, stack.Gitea.Call(t.Context(), s.Owner, http.MethodGet, "/repos/"+s.Organization+"/"+repository+"/branch_protections/"+branch, nil, &found))
	if found.Push || len(found.Checks) != 2 {
		t.Errorf("%s of %s is protected as %+v", branch, repository, found)
	}
}

// down removes the sample, and wants everything to be as it was before.
func (s *realSample) down(t *testing.T) {
	t.Helper()
	s.run(t, "sample down")
	var left []struct {
		Name string `json:"name"`
	}
	must(t, stack.Gitea.Call(t.Context(), s.Owner, http.MethodGet, "/orgs/"+s.Organization+"/repos", nil, &left))
	if len(left) != 1 || left[0].Name != "tutorial-of-others" {
		t.Errorf("on Gitea there are %v", left)
	}
	if _, err := os.Stat(s.folder); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("its folder: %v", err)
	}
	for _, c := range stack.Clusters {
		eventually(t, "nothing is left on "+c.Name, func(ctx context.Context) error { return nothingOfSamples(ctx, c) })
	}
	if log, err := s.process.Log(); err != nil || strings.Contains(log, s.Owner.Token) || strings.Contains(log, s.Reader.Token) {
		t.Errorf("the log has a token, or cannot be read: %v", err)
	}
}

// nothingOfSamples has no error when a cluster has nothing of a sample, nor of an agent.
func nothingOfSamples(ctx context.Context, c *harness.Cluster) error {
	var left []error
	for _, look := range []struct {
		kind schema.GroupVersionResource
		like string
	}{
		{harness.Kustomizations, "-"},
		{harness.GitRepositories, "-"},
		{harness.Secrets, "kalypso-sample"},
		{harness.Namespaces, "hello-world-app"},
		{harness.Namespaces, agentNamespace},
	} {
		found, err := c.List(ctx, look.kind)
		if err != nil {
			return err
		}
		for _, o := range found {
			if strings.Contains(o.GetName(), look.like) {
				left = append(left, fmt.Errorf("there is %s %s", o.GetKind(), o.GetName()))
			}
		}
	}
	return errors.Join(left...)
}

package e2e

import (
	"crypto/rand"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/kalypso-io/kalypso/e2e/harness"
	hellofleet "github.com/kalypso-io/kalypso/examples/hello-fleet"
)

// fleet is the example fleet as repositories of an organization on Gitea.
type fleet struct {
	// organization is whose the repositories are.
	organization string
	// bot is the account that Kalypso has: it may write to the GitOps repository, and read the others.
	bot harness.Account
	// flux is the account of the clusters, which only read.
	flux harness.Account
	// checkouts are the work trees of people, by repository/branch.
	checkouts    map[string]*harness.Checkout
	gitops       *harness.Repository
	repositories map[string]*harness.Repository
	// configuration is added to that of its servers.
	configuration string
}

const (
	// dev and stage are the environments, and the branches of the GitOps repository that their clusters follow.
	dev, stage = "dev", "stage"
	// platform is how the clusters' Flux calls the branch of dev, and the credential for all of Gitea;
	// the branch of another environment has its name behind that.
	platform = "platform"
	// controlPlaneOfDev and main are where the platform team works.
	controlPlaneOfDev, controlPlaneMain = "control-plane/dev", "control-plane/main"
)

// newFleet creates the repositories of the example, and two that it only speaks of:
// the applications' GitOps repositories, in which their teams keep manifests.
func newFleet(t *testing.T, story string) *fleet {
	t.Helper()
	f := newEmptyFleet(t, story)
	branches := f.branches(t)
	for _, branch := range slices.Sorted(maps.Keys(branches)) {
		repository, name, _ := strings.Cut(branch, "/")
		checkout := f.publish(t, repository, name, branches[branch])
		f.checkouts[branch] = checkout
	}
	f.gitops = f.repositories["gitops"]
	must(t, f.gitops.Grant(t.Context(), f.bot, "write"))
	return f
}

// newEmptyFleet creates an organization with the accounts of a fleet, and no repositories.
func newEmptyFleet(t *testing.T, story string) *fleet {
	t.Helper()
	organization := newOrganization(t, story)
	return &fleet{
		organization: organization, checkouts: map[string]*harness.Checkout{}, repositories: map[string]*harness.Repository{},
		bot:  account(t, organization+"-bot", "write:repository", "write:issue", "read:user", "read:organization"),
		flux: account(t, organization+"-flux", "read:repository"),
	}
}

// url returns the URL of a repository of the organization, which need not exist yet.
func (f *fleet) url(repository string) string {
	return stack.Gitea.URL + "/" + f.organization + "/" + repository
}

// object returns a document.
func object(kind, name, spec string) string {
	return "apiVersion: scheduler.kalypso.io/v1alpha1\nkind: " + kind + "\nmetadata: {name: " + name + "}\nspec: " + spec + "\n"
}

// branches are the files of each branch, by repository/branch and path.
func (f *fleet) branches(t *testing.T) map[string]map[string]string {
	t.Helper()
	branches := map[string]map[string]string{
		"gitops/dev":   {"README.md": "Kalypso writes what is here.\n"},
		"gitops/stage": {"README.md": "Kalypso writes what is here.\n"},
		"hello-world-app-gitops/dev": {
			"functional-test/greeting.yaml":  configMap("greeting", "hello from the edge"),
			"performance-test/greeting.yaml": configMap("greeting", "hello from the west"),
		},
		"platform-services-gitops/dev": {
			"nginx/settings.yaml": configMap("nginx", "one worker"), "prometheus/settings.yaml": configMap("prometheus", "two weeks"),
		},
		"control-plane/main": {"secret-grants.yaml": f.secretGrant("kaizen-app-team") + "---\n" + f.secretGrant("platform-team")},
	}
	files := hellofleet.Files()
	err := fs.WalkDir(files, ".", func(path string, d fs.DirEntry, err error) error {
		parts := strings.SplitN(path, "/", 3)
		if err != nil || d.IsDir() || len(parts) < 3 {
			return err
		}
		text, err := fs.ReadFile(files, path)
		branch := parts[0] + "/" + parts[1]
		if branches[branch] == nil {
			branches[branch] = map[string]string{}
		}
		branches[branch][parts[2]] = f.adapt(string(text))
		return err
	})
	must(t, err)
	return branches
}

// adapt lets the example's applications have their manifests on our Gitea, where only who has a credential may read them.
// All other repositories of the example are relative to the control plane already.
func (f *fleet) adapt(text string) string {
	const indent = "\n        "
	text = strings.ReplaceAll(text, "manifests:"+indent+"repo:", "manifests:"+indent+"secret: "+platform+indent+"repo:")
	// The same targets run on clusters whose reconcilers have credentials of their own: their templates accept the key.
	text = strings.ReplaceAll(text, "branch|tag, path]", "branch|tag, path, secret]")
	for _, clusterType := range []string{"drone", "large"} { // which stories let Flux reconcile
		named := "kind: ClusterType\nmetadata:\n  name: " + clusterType + "\n  labels:\n"
		text = strings.ReplaceAll(text, named, named+"    flux-sources: flux-system\n")
	}
	return strings.ReplaceAll(text, "https://github.com/example/", stack.Gitea.URL+"/"+f.organization+"/")
}

// secretGrant lets a workspace use the credential of the platform, in the repositories of the fleet.
func (f *fleet) secretGrant(workspace string) string {
	return "apiVersion: scheduler.kalypso.io/v1alpha1\nkind: Grant\nmetadata: {name: " + workspace + "}\nspec: {deploymentTargetSelector: {workspace: " +
		workspace + "}, secrets: [{name: " + platform + ", url: " + stack.Gitea.URL + "/" + f.organization + "}]}\n"
}

func configMap(name, says string) string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: " + name + "\ndata:\n  says: " + says + "\n"
}

// publish pushes a branch, and creates its repository before the first.
func (f *fleet) publish(t *testing.T, repository, branch string, files map[string]string) *harness.Checkout {
	t.Helper()
	ctx := t.Context()
	r := f.repositories[repository]
	if r == nil {
		var err error
		r, err = stack.Gitea.NewRepository(ctx, f.organization, repository)
		must(t, err)
		must(t, r.Grant(ctx, f.bot, "read"))
		must(t, r.Grant(ctx, f.flux, "read"))
		f.repositories[repository] = r
	}
	checkout, err := harness.NewCheckout(ctx, filepath.Join(t.TempDir(), "checkout"), r, branch, stack.Gitea.Admin)
	must(t, err)
	for path, text := range files {
		must(t, checkout.Write(path, text))
	}
	push(t, checkout, "begin "+branch)
	return checkout
}

// credentials are the environment in which Kalypso finds the bot's token.
func (f *fleet) credentials() []string {
	return []string{
		"KALYPSO_GIT_HOST=" + strings.TrimPrefix(stack.Gitea.URL, "http://"),
		"KALYPSO_GIT_USERNAME=" + f.bot.Name, "KALYPSO_GIT_TOKEN=" + f.bot.Token,
	}
}

// clusters are lent to one story at a time.
var clusters sync.Mutex

// follow has each cluster follow the folder of its cluster type in dev, and takes away what came from there when the test is over.
// Clusters look when they are told to.
func (f *fleet) follow(t *testing.T) {
	t.Helper()
	f.borrow(t)
	for _, c := range stack.Clusters {
		must(t, c.Follow(t.Context(), harness.Follow{
			Name: platform, URL: f.gitops.URL(), Branch: dev, Path: "./" + c.Name, As: f.flux,
		}))
	}
}

// followBoth has each cluster follow the folder of its cluster type in dev and in stage, and look often.
func (f *fleet) followBoth(t *testing.T) {
	t.Helper()
	f.borrow(t)
	for _, c := range stack.Clusters {
		for environment, name := range map[string]string{dev: platform, stage: platform + "-" + stage} {
			must(t, c.Follow(t.Context(), harness.Follow{
				Name: name, URL: f.gitops.URL(), Branch: environment, Path: "./" + c.Name, As: f.flux, Interval: "2s",
			}))
		}
	}
}

// mergeByItself lets Kalypso merge what it proposes to the platform's GitOps repository, and move commits in the control plane.
func (f *fleet) mergeByItself(t *testing.T) {
	t.Helper()
	must(t, f.repositories["control-plane"].Grant(t.Context(), f.bot, "write"))
	for _, environment := range []string{dev, stage} {
		c := f.checkouts["control-plane/"+environment]
		must(t, c.Replace("gitops-repo.yaml", "  branch: "+environment+"\n", "  branch: "+environment+"\n  autoMerge: true\n"))
		push(t, c, "merge by itself")
	}
}

// borrow waits until no other story uses the clusters, and takes away what this one has them follow when it is over.
func (f *fleet) borrow(t *testing.T) {
	t.Helper()
	clusters.Lock()
	t.Cleanup(clusters.Unlock)
	for _, c := range stack.Clusters {
		t.Cleanup(func() { leave(t, c) })
	}
}

// promoteByHand takes the rules of promotion out of the environments, so that their commits stay what people say.
func (f *fleet) promoteByHand(t *testing.T) {
	t.Helper()
	c := f.checkouts[controlPlaneMain]
	must(t, c.Replace(".environments/dev.yaml", "  promotion:\n    approval: automatic\n", ""))
	must(t, c.Replace(".environments/stage.yaml", "  promotion:\n    after: [dev]\n", ""))
	push(t, c, "nothing is promoted by itself")
}

// newOrganization creates one that nobody else uses, even when tests are repeated.
func newOrganization(t *testing.T, story string) string {
	t.Helper()
	name := story + "-" + strings.ToLower(rand.Text()[:5])
	must(t, stack.Gitea.NewOrganization(t.Context(), name))
	return name
}

func account(t *testing.T, name string, scopes ...string) harness.Account {
	t.Helper()
	a, err := stack.Gitea.NewAccount(t.Context(), name, scopes...)
	must(t, err)
	return a
}

func push(t *testing.T, c *harness.Checkout, message string) string {
	t.Helper()
	commit, err := c.Push(t.Context(), message)
	must(t, err)
	return commit
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

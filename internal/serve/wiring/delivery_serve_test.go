package wiring

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/kalypso-io/kalypso/internal/chart/charttest"
	"github.com/kalypso-io/kalypso/internal/chart/remote"
	"github.com/kalypso-io/kalypso/internal/deliver"
	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/hub/record"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/plane"
	"github.com/kalypso-io/kalypso/internal/promote"
	"github.com/kalypso-io/kalypso/internal/promote/verify"
	"github.com/kalypso-io/kalypso/internal/repository"
	"github.com/kalypso-io/kalypso/internal/serve/api"
	"github.com/kalypso-io/kalypso/internal/serve/wiring/fleettest"
)

const registrationFile = kalypsoAPI + "kind: WorkloadRegistration\nmetadata:\n  name: NAME\nspec:\n  workload: {repo: ../NAME, branch: main, path: .}\n  workspace: kaizen\n"

// registeredShop returns a shop whose source is registered in a control plane, and the server's deliveries.
func registeredShop(t *testing.T) (*shop, *deliveries) {
	s := newShop(t)
	for _, name := range []string{"control-plane", "gitops"} {
		s.Create(name)
	}
	s.Push(fleettest.ControlPlane, "main", map[string]string{"README.md": "the fleet\n"})
	first := s.Head(fleettest.ControlPlane, "main")
	main := map[string]string{"shop.yaml": strings.ReplaceAll(registrationFile, "NAME", "shop")}
	for _, name := range []string{"dev", "stage"} {
		main[".environments/"+name+".yaml"] = environmentFile(name, "{}")
		s.Push(fleettest.ControlPlane, name, map[string]string{
			"base-repo.yaml":    strings.ReplaceAll(baseRepoFile, "COMMIT", first),
			"gitops-repo.yaml":  strings.ReplaceAll(gitOpsRepoFile, "NAME", name),
			"cluster-type.yaml": clusterTypeFile,
		})
	}
	s.Push(fleettest.ControlPlane, "main", main)
	for _, name := range []string{"dev", "stage"} {
		if _, err := s.flows.Round(t.Context(), s.URL+"/"+fleettest.ControlPlane, name); err != nil {
			t.Fatal(err)
		}
	}
	hosts := &record.Hosts{}
	hosts.Add(s.URL)
	s.flows.promotion = &plane.Promotion{Ledger: s.ledger, Promoter: s.chain.Promoter, Hosts: hosts, Rings: s.flows.connected("").Promotion.Rings}
	s.flows.applications = &plane.Applications{
		Charts: &remote.Client{}, Renderer: charttest.InProcess{}, Memory: &deliver.Memory{}, Link: pageLinks("https://kalypso.example/").workload,
	}
	return s, &deliveries{flows: s.flows, events: &api.Events{}}
}

// deliver runs the server's rounds of the only application until nothing is left to do, and returns the reported problems.
func (s *shop) deliver(t *testing.T, d *deliveries) (problems []string) {
	t.Helper()
	url := s.URL + "/" + fleettest.ControlPlane
	registered, err := d.Registered(t.Context(), url)
	if err != nil || len(registered.Applications) != 1 {
		t.Fatalf("got %+v, %v", registered, err)
	}
	for range 10 {
		delivered, err := d.Deliver(t.Context(), url, registered.Applications[0])
		if err != nil {
			t.Fatal(err)
		}
		problems = append(problems, delivered.Problems...)
		if len(delivered.Did) == 0 {
			return problems
		}
	}
	t.Fatal("it never ends")
	return nil
}

func TestServerDeliversRegisteredApplications(t *testing.T) {
	t.Parallel()
	s, d := registeredShop(t)
	commit := s.built("1.4.0")
	s.deliver(t, d)
	s.report()
	problems := s.deliver(t, d)
	if got, want := s.status(shopSource, commit, "dev"), "success Deployed 1.4.0"; got != want {
		t.Errorf("dev shows %q, want %q; said %q", got, want, problems)
	}
	statuses, err := s.Repo(shopSource).Statuses(t.Context(), commit)
	if err != nil || len(statuses) == 0 {
		t.Fatalf("got %v, %v", statuses, err)
	}
	for _, status := range statuses {
		if want := "https://kalypso.example/workloads/shop"; status.URL != want {
			t.Errorf("%s leads to %q, want %q", status.Context, status.URL, want)
		}
	}
	if title := s.open("stage").Title; !strings.Contains(title, "1.4.0") {
		t.Errorf("open is %q", title)
	}
	if got := s.Files(shopGitOps, "dev")[".kalypso/functional-test/descriptor.yaml"]; !strings.Contains(got, "name: kaizen") {
		t.Errorf("the descriptor does not say whose it is:\n%s", got)
	}
}

// A ledger from before subjects contained the workload is still used.
func TestFormerSubjectOfAnApplicationIsTakenOver(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	former, subject := ledger.CleanRepository(s.URL+"/"+shopSource), deliver.SubjectOf(s.URL+"/"+shopSource, "shop")
	b := deliver.Build{Commit: s.Head(shopSource, "main"), Version: "1.4.0", Image: "1.4.0"}
	control := &promote.Control{Ledger: s.ledger, Now: func() time.Time { return s.now }}
	if err := errors.Join(
		deliver.RecordBuild(t.Context(), s.ledger, former, b, "ci", s.now),
		control.Pause(t.Context(), promote.Command{Subject: former, Environment: "dev", By: "ann", Why: "a sale"}),
	); err != nil {
		t.Fatal(err)
	}
	d := s.quiet()
	builds, err := deliver.RecordedBuilds(t.Context(), s.ledger, subject)
	if err != nil || builds[b.Commit] != b || d.Promotion.Environments[0].Pause == nil {
		t.Errorf("got %v, %v\n%s", builds, err, s.story(d))
	}
	if err := control.Resume(t.Context(), promote.Command{Subject: subject, Environment: "dev", By: "ann"}); err != nil {
		t.Fatal(err)
	}
	s.reboot()
	d = s.quiet()
	if got, want := s.status(shopSource, b.Commit, "dev"), "success Deployed 1.4.0"; got != want {
		t.Errorf("dev shows %q, want %q\n%s", got, want, s.story(d))
	}
}

func TestDeliveriesOfApplicationsAreCounted(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	recorder := &record.Recorder{Repositories: repository.GitOpsBranches{Client: s.flows.Client}, Ledger: s.ledger, Now: func() time.Time { return s.now }}
	deliver := func(version string) {
		s.Push(shopSource, "main", map[string]string{"main.go": "package wiring // " + version + "\n"})
		s.built(version)
		s.quiet()
		branch := record.Branch{Repository: s.URL + "/" + shopGitOps, Branch: "dev", Environment: "dev", Kind: ledger.BranchApplication}
		if _, err := recorder.Branch(t.Context(), branch); err != nil {
			t.Fatal(err)
		}
	}
	deliver("1.4.0")
	deliver("1.5.0")
	s.fails["dev-1"] = "no image"
	if _, err := s.minute(); err != nil {
		t.Fatal(err)
	}
	o := &query.Observer{Ledger: s.ledger, Now: func() time.Time { return s.now.Add(time.Minute) }}
	f, err := o.Figures(t.Context(), query.FiguresQuery{})
	if err != nil || len(f.Items) != 1 || f.Items[0].Workload != "shop" || f.Total.Deployments != 2 || f.Total.ChangeFailureRate != 0.5 ||
		f.Total.OpenIncidents != 1 || f.Total.LeadTimeSeconds <= 0 {
		t.Errorf("got %+v, %v", f, err)
	}
}

func TestOnlyApplicationsWithADeliveryAreDelivered(t *testing.T) {
	t.Parallel()
	s, d := registeredShop(t)
	s.Push(shopSource, "main", map[string]string{"delivery.yaml": ""})
	requests, problems, err := d.flows.plane(s.URL+"/"+fleettest.ControlPlane).ApplicationLoader().Registered(t.Context(), s.URL+"/"+fleettest.ControlPlane)
	if len(requests) > 0 || len(problems) > 0 || err != nil {
		t.Errorf("got %v, %v, %v", requests, problems, err)
	}
}

func TestApplicationsReachNothingOfThePlatform(t *testing.T) {
	t.Parallel()
	s, d := registeredShop(t)
	request := deliver.Request{Source: s.URL + "/" + shopSource, Repositories: []string{s.URL + "/platform/manifests", s.URL + "/" + fleettest.GitOps}}
	for repository, want := range map[string]error{
		s.URL + "/" + fleettest.ControlPlane:                  deliver.ErrPlatforms,
		s.URL + "/" + strings.ToUpper(fleettest.ControlPlane): deliver.ErrPlatforms,
		s.URL + "/" + fleettest.GitOps + ".git":               deliver.ErrPlatforms,
		s.URL + "/Platform//GitOps.git/":                      deliver.ErrPlatforms,
		"http://169.254.169.254/x/y":                          deliver.ErrHost,
		"/" + shopGitOps:                                      deliver.ErrHost,
		s.URL + "/" + shopGitOps:                              nil,
		s.URL + "/" + shopConfigs + ".git":                    nil,
		s.URL + "/" + shopSource:                              nil,
		s.URL + "/platform/manifests":                         nil,
		s.URL + "/platform/cart":                              deliver.ErrOthers,
		s.URL + "/platform/cart-gitops":                       deliver.ErrOthers,
		s.URL + "/others/shop-gitops":                         deliver.ErrOthers,
		s.URL + "/platform/shop-gitops/../cart":               deliver.ErrHost,
	} {
		if got := d.flows.plane(s.URL+"/"+fleettest.ControlPlane).ApplicationLoader().Allow(request, repository); !errors.Is(got, want) {
			t.Errorf("%s: got %v, want %v", repository, got, want)
		}
	}
	s.Push(shopSource, "main", map[string]string{
		"delivery.yaml": strings.Replace(fleettest.Shop()["delivery.yaml"], "spec:\n", "spec:\n  gitops: {repo: ../gitops}\n", 1),
	})
	s.built("1.5.0")
	before := s.Head(fleettest.GitOps, "dev")
	problems := s.deliver(t, d)
	if got := s.Head(fleettest.GitOps, "dev"); got != before {
		t.Error("an application wrote to the platform's repository")
	}
	if said := strings.Join(problems, "\n"); !strings.Contains(said, deliver.ErrPlatforms.Error()) {
		t.Errorf("the reason is not in the log: %s", said)
	}
}

// TestApplicationsReachWhatIsListed checks that the server's access to other teams' repositories is used only where the platform
// team allows it.
func TestApplicationsReachWhatIsListed(t *testing.T) {
	t.Parallel()
	s, d := registeredShop(t)
	s.Create("manifests")
	s.Push("platform/manifests", "main", map[string]string{"README.md": "of another team\n"})
	files := fleettest.Shop()
	s.Push(shopSource, "main", map[string]string{
		"delivery.yaml": strings.Replace(files["delivery.yaml"], "spec:\n", "spec:\n  gitops: {repo: ../manifests}\n", 1),
		"workload.yaml": strings.ReplaceAll(files["workload.yaml"], "../shop-gitops", "../manifests"),
	})
	s.built("1.5.0")
	problems := s.deliver(t, d)
	if got := s.Head("platform/manifests", "dev"); got != "" {
		t.Error("an application wrote to the repository of another team")
	}
	if said := strings.Join(problems, "\n"); !strings.Contains(said, "spec.repositories") {
		t.Errorf("the advice is not in the log: %s", said)
	}
	registration := strings.ReplaceAll(registrationFile, "NAME", "shop")
	s.Push(fleettest.ControlPlane, "main", map[string]string{"shop.yaml": registration + "  repositories: [../manifests]\n"})
	if problems := s.deliver(t, d); len(problems) > 0 {
		t.Errorf("after it was listed: %q", problems)
	}
	if got := s.Head("platform/manifests", "dev"); got == "" {
		t.Error("nothing was delivered to the repository that is listed")
	}
}

// Charts use the same rules for addresses as verifications: names that the operator allows may have private addresses.
func TestChartsComeFromPublicAddresses(t *testing.T) {
	t.Parallel()
	here := httptest.NewServer(http.NotFoundHandler())
	defer here.Close()
	ask := func(client *http.Client, url string) error {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute) // fails the test instead of hanging
		defer cancel()
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
		if err != nil {
			return err
		}
		answer, err := client.Do(request)
		if err == nil {
			_ = answer.Body.Close()
		}
		return err
	}
	port := here.URL[strings.LastIndex(here.URL, ":"):]
	listed := (&verify.Runner{Hosts: []string{"localhost"}}).Client()
	for _, url := range []string{here.URL, "http://10.0.0.1", "http://169.254.169.254", "http://168.63.129.16", "http://192.0.0.192", "http://100.64.1.1"} {
		for name, client := range map[string]*http.Client{"nothing is listed": (&verify.Runner{}).Client(), "another is listed": listed} {
			if err := ask(client, url); err == nil || !strings.Contains(err.Error(), "verify.hosts") {
				t.Errorf("%s, where %s: got %v", url, name, err)
			}
		}
	}
	if err := ask(listed, "http://localhost"+port); err != nil {
		t.Errorf("a host that is listed: %v", err)
	}
}

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/git"
	"github.com/kalypso-io/kalypso/internal/sample/simulate"
	"github.com/kalypso-io/kalypso/internal/serve/wiring/fleettest"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// TestStoryOfAStolenToken: whoever has it is refused from the moment on in which it is revoked.
func TestStoryOfAStolenToken(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	s.serve()
	s.join(nil)
	s.arrives(s.Head(fleettest.ControlPlane, "main"), storyEnvironments...)

	t.Run("of a cluster", func(t *testing.T) {
		stolen := readSecret(t, filepath.Join(s.data, "clusters", "prod-large.token"))
		batch := hub.NewReportBatch("prod-large", time.Now(), nil)
		if code, text := s.report(stolen, batch); code != http.StatusOK {
			t.Fatalf("before it is revoked: %d %s", code, text)
		}
		s.tells("cluster revoke prod-large", "prod-large")
		if code, text := s.report(stolen, batch); code != http.StatusUnauthorized {
			t.Errorf("afterwards: %d %s", code, text)
		}
		s.until("the cluster itself is refused", func() error {
			c, err := s.clusters["prod"].Cluster("prod-large")
			if err == nil && !strings.Contains(c.Problem, "401") {
				err = fmt.Errorf("its problem is %q", c.Problem)
			}
			return err
		})
	})
	t.Run("of a person", func(t *testing.T) {
		stolen := s.createToken("operator")
		if code, text := s.sayAs(stolen, "promote", "pause", "prod", "--why", "to see whether it works"); code != 0 {
			t.Fatalf("before it is revoked: %s", text)
		}
		_, list := s.say("token", "list", "-o", "json")
		s.tells("token revoke "+idOf(t, list, "of operator"), "")
		if code, text := s.sayAs(stolen, "promote", "resume", "prod"); code != 1 || !strings.Contains(text, "token") {
			t.Errorf("afterwards: exit code %d, %s", code, text)
		}
		s.until("the pause goes on", func() error {
			_, text := s.say("status")
			return inOrder(text, "prod", "paused by of operator")
		})
	})
}

// idOf finds the ID of a token by its name.
func idOf(t *testing.T, list, name string) string {
	t.Helper()
	var all struct {
		Items []struct{ ID, Name string }
	}
	if err := json.Unmarshal([]byte(list), &all); err != nil {
		t.Fatalf("%v: %s", err, list)
	}
	for _, token := range all.Items {
		if token.Name == name {
			return token.ID
		}
	}
	t.Fatalf("no token %q in %s", name, list)
	return ""
}

// report sends a batch as whoever has a credential.
func (s *story) report(credential secret.Value, batch hub.ReportBatch) (code int, text string) {
	s.Helper()
	body, err := json.Marshal(batch)
	if err != nil {
		s.Fatal(err)
	}
	request, err := http.NewRequestWithContext(s.Context(), http.MethodPost, s.URL+"/api/v1/reports", bytes.NewReader(body))
	if err != nil {
		s.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+credential.Reveal())
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		s.Fatal(err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		s.Fatal(err)
	}
	return response.StatusCode, string(answer)
}

// TestStoryOfReportsBeforeTheirTime: what a cluster says about a repository or a commit that nobody knows yet is kept and
// shown as what it is, and counts as soon as Git has it.
func TestStoryOfReportsBeforeTheirTime(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	s.serve()
	s.join(nil)
	s.arrives(s.Head(fleettest.ControlPlane, "main"), storyEnvironments...)
	file := filepath.Join(t.TempDir(), "credential")
	s.tells("cluster register early --member prod/large --credential "+file, "early is registered as prod/large")
	credential := readSecret(t, file)

	// The cluster has a commit that is on the GitOps branch only later, and follows a repository that nobody knows.
	commit := s.unpushed(fleettest.GitOps, "prod")
	at := time.Now()
	report := func(name, repository, ref, revision string) hub.Report {
		return hub.Report{
			Kind: "Kustomization", Namespace: "flux-system", Name: name, Repository: repository, Ref: ref, Path: "large",
			Revision: revision, State: hub.StateReady, Observed: at,
		}
	}
	code, text := s.report(credential, hub.NewReportBatch("early", at, []hub.Report{
		report("platform", s.URL+"/"+fleettest.GitOps, "prod", commit.Hash),
		report("other", "https://elsewhere.example/never-heard-of", "main", strings.Repeat("e", 40)),
	}))
	if code != http.StatusOK {
		t.Fatalf("%d %s", code, text)
	}
	s.tells("cluster show early", "platform", commit.Hash[:7])
	s.tells("cluster show early", "other", "eeeeeee")
	s.until("the gate does not count it", func() error {
		_, text := s.say("status")
		return inOrder(text, "prod ", "2/3", "early")
	})

	s.pushCommit(fleettest.GitOps, "prod", commit)
	s.until("the gate counts it", func() error {
		_, text := s.say("status")
		return inOrder(text, "prod ", "3/3")
	})
}

// unpushed makes a commit on top of a branch, which nobody else has.
func (s *story) unpushed(repo, branch string) git.Commit {
	s.Helper()
	r, err := s.Client.Open(s.Context(), s.URL+"/"+repo)
	if err != nil {
		s.Fatal(err)
	}
	head, err := r.Resolve(s.Context(), branch, "")
	if err != nil {
		s.Fatal(err)
	}
	commit, err := r.Commit(s.Context(), git.CommitRequest{
		Parent: head, Put: map[string][]byte{"notes.md": []byte("by hand\n")}, Message: "by hand", When: fleettest.Time, Author: git.Person{Name: "somebody", Email: "s@localhost"},
	})
	if err != nil {
		s.Fatal(err)
	}
	return commit
}

func (s *story) pushCommit(repo, branch string, commit git.Commit) {
	s.Helper()
	r, err := s.Client.Open(s.Context(), s.URL+"/"+repo)
	if err != nil {
		s.Fatal(err)
	}
	if err := r.Push(s.Context(), branch, s.Head(repo, branch), commit); err != nil {
		s.Fatal(err)
	}
}

// TestStoryOfAnEnvironmentThatIsRenamed while a commit is rolled out there: the others go on, who came after it waits and says
// so, and its history stays. When who came after it names the new one, the commit goes on.
func TestStoryOfAnEnvironmentThatIsRenamed(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	s.serve()
	s.join(nil)
	old := s.Head(fleettest.ControlPlane, "main")
	s.arrives(old, storyEnvironments...)
	s.set("stage-large", simulate.Behaviour{Mode: simulate.Offline})
	one := s.commit("one")
	s.shows(one, "stage", "pending Deploying ")

	main := s.Files(fleettest.ControlPlane, "main")
	s.Push(fleettest.ControlPlane, "main", map[string]string{
		".environments/stage.yaml": "", ".environments/qa.yaml": strings.Replace(main[".environments/stage.yaml"], "name: stage", "name: qa", 1),
	})
	s.arrives(s.Head(fleettest.ControlPlane, "main"), "dev")
	s.until("prod says what is wrong", func() error {
		_, text := s.say("status")
		if strings.Contains(text, "\nstage ") {
			return fmt.Errorf("stage is still there:\n%s", text)
		}
		return inOrder(text, "prod ", old[:7], "no such environment")
	})
	s.tells("history environment stage", one[:7])

	// Its namespaces will be called otherwise, which counts as removals, so somebody agrees to those beforehand.
	// Its applications move to the new name, its clusters as well, and prod comes after that.
	for _, repo := range []string{"platform/hello-world-app", "platform/platform-services"} {
		changed := map[string]string{}
		for path, text := range s.Files(repo, "main") {
			changed[path] = strings.ReplaceAll(text, "environment: stage", "environment: qa")
		}
		s.Push(repo, "main", changed)
	}
	s.Edit("stage", "gitops-repo.yaml", "autoMerge: true", "autoMerge: true\n  deletionBudget: 100%")
	s.Edit("main", ".environments/prod.yaml", "[stage]", "[qa]")
	for _, clusterType := range []string{"drone", "large"} {
		name := "stage-" + clusterType
		s.set(name, simulate.Behaviour{Mode: simulate.Healthy})
		s.tells("cluster register "+name+" --member qa/"+clusterType, name+" is registered as qa/"+clusterType)
	}
	s.arrives(s.Head(fleettest.ControlPlane, "main"), "dev", "qa", "prod")
	s.tells("history environment stage", one[:7], old[:7])
}

// TestStoryOfWrongClocks: clusters that are an hour ahead, and others that are an hour behind, neither stop a commit
// nor let one through that fails.
func TestStoryOfWrongClocks(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	s.serve()
	s.join(map[string]time.Duration{"dev": time.Hour, "stage": -time.Hour})
	s.arrives(s.Head(fleettest.ControlPlane, "main"), storyEnvironments...)
	one := s.commit("one")
	s.arrives(one, storyEnvironments...)
	if _, text := s.say("status"); strings.Contains(text, "offline") {
		t.Errorf("a cluster counts as offline:\n%s", text)
	}
	for _, environment := range []string{"dev", "stage"} {
		failing := environment + "-large"
		s.set(failing, simulate.Behaviour{Mode: simulate.Failing})
		s.shows(one, environment, "failure ", failing)
		s.set(failing, simulate.Behaviour{Mode: simulate.Healthy})
		s.arrives(one, environment)
	}
}

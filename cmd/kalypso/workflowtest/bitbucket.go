package workflowtest

import (
	"fmt"
	"strings"

	"sigs.k8s.io/yaml"
)

type bitbucketFile struct {
	Pipelines struct {
		Branches map[string][]bitbucketItem `json:"branches"`
		Custom   map[string][]bitbucketItem `json:"custom"`
	} `json:"pipelines"`
}

// bitbucketItem is a step of a pipeline, or the variables that a custom one takes.
type bitbucketItem struct {
	Variables []struct {
		Name string `json:"name"`
	} `json:"variables"`
	Step *bitbucketStep `json:"step"`
}

type bitbucketStep struct {
	Name       string `json:"name"`
	Deployment string `json:"deployment"`
	Clone      struct {
		Enabled *bool `json:"enabled"`
	} `json:"clone"`
	// Script are lines that one shell runs.
	Script []string `json:"script"`
}

// deploymentVariables are those of a deployment environment. Steps without one do not have them.
var deploymentVariables = []string{"DELIVERY_TOKEN", "FLEET_TOKEN", "KALYPSO_LEDGER"}

// Bitbucket is Bitbucket Pipelines. A schedule runs the custom pipeline "deliver". What installs Kalypso is left out.
func Bitbucket(files map[string][]byte, e Event) ([]Step, error) {
	const name = "bitbucket-pipelines.yml"
	var file bitbucketFile
	if err := yaml.Unmarshal(files[name], &file); err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	items, ok := file.Pipelines.Branches[e.Branch]
	if custom := map[Kind]string{Schedule: "deliver", ConfigChanged: string(ConfigChanged)}[e.Kind]; custom != "" {
		items, ok = file.Pipelines.Custom[custom]
	}
	if !ok {
		return nil, fmt.Errorf("%s has no pipeline for %s of branch %q", name, e.Kind, e.Branch)
	}
	given := bitbucketVariables(e)
	var steps []Step
	deployments := map[string]bool{}
	for _, item := range items {
		for _, v := range item.Variables {
			if v.Name != "ENVIRONMENT" {
				return nil, fmt.Errorf("nothing gives the variable %q", v.Name)
			}
			given[v.Name] = e.Environment
		}
		if item.Step == nil {
			continue
		}
		if at := item.Step.Deployment; at != "" {
			if deployments[at] {
				return nil, fmt.Errorf("the deployment environment %q occurs several times in a pipeline", at)
			}
			deployments[at] = true
		}
		steps = append(steps, item.Step.step(given))
	}
	return steps, nil
}

// bitbucketVariables are those that Bitbucket gives, and those of the repository.
func bitbucketVariables(e Event) map[string]string {
	_, path := site(e.URL)
	_, slug, _ := strings.Cut(path, "/")
	return merged(map[string]string{
		"CI": "true", "BITBUCKET_COMMIT": e.Commit, "BITBUCKET_BRANCH": e.Branch, "BITBUCKET_BUILD_NUMBER": e.Number,
		"BITBUCKET_REPO_FULL_NAME": path, "BITBUCKET_REPO_SLUG": slug,
	}, e.Settings)
}

func (s *bitbucketStep) step(given map[string]string) Step {
	env := merged(given)
	if s.Deployment == "" {
		for _, name := range deploymentVariables {
			delete(env, name)
		}
	}
	var lines []string
	for _, line := range s.Script {
		if !strings.HasPrefix(line, "go install ") && !strings.HasPrefix(line, "# install kalypso") {
			lines = append(lines, line)
		}
	}
	return Step{Job: s.Name, Script: strings.Join(lines, "\n"), Env: env, Checkout: s.Clone.Enabled == nil || *s.Clone.Enabled}
}

package workflowtest

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

type gitlabJob struct {
	Extends   string            `json:"extends"`
	Stage     string            `json:"stage"`
	Variables map[string]string `json:"variables"`
	Rules     []struct {
		If   string `json:"if"`
		When string `json:"when"`
	} `json:"rules"`
	// Script are lines that one shell runs; what comes before them installs Kalypso.
	Script []string `json:"script"`
}

// GitLab is GitLab CI.
func GitLab(files map[string][]byte, e Event) ([]Step, error) {
	const name = ".gitlab-ci.yml"
	var head struct {
		Stages    []string          `json:"stages"`
		Variables map[string]string `json:"variables"`
	}
	var all map[string]any
	if err := yaml.Unmarshal(files[name], &head); err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	if err := yaml.Unmarshal(files[name], &all); err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	given := gitlabVariables(e)
	var steps []Step
	for _, stage := range head.Stages {
		for _, name := range sorted(all) {
			job, err := gitlabJobOf(all, name)
			if err != nil {
				return nil, fmt.Errorf("job %q: %w", name, err)
			}
			if job == nil || job.Stage != stage {
				continue
			}
			runs, err := job.runs(given)
			if err != nil {
				return nil, fmt.Errorf("job %q: %w", name, err)
			}
			if runs {
				steps = append(steps, job.step(name, merged(head.Variables, given)))
			}
		}
	}
	return steps, nil
}

// gitlabVariables are those that GitLab gives, and those of the project.
func gitlabVariables(e Event) map[string]string {
	server, path := site(e.URL)
	given := map[string]string{
		"CI": "true", "CI_SERVER_URL": server, "CI_PROJECT_URL": e.URL, "CI_PROJECT_PATH": path, "CI_JOB_TOKEN": e.Token,
		"CI_COMMIT_SHA": e.Commit, "CI_COMMIT_BRANCH": e.Branch, "CI_PIPELINE_IID": e.Number, "CI_PIPELINE_SOURCE": string(e.Kind),
	}
	if e.Kind == ConfigChanged { // the trigger of the configuration's project
		given["CI_PIPELINE_SOURCE"], given["EVENT"], given["ENVIRONMENT"] = "pipeline", string(e.Kind), e.Environment
	}
	return merged(given, e.Settings)
}

// gitlabJobOf returns a job with what it extends; nil for what is none.
func gitlabJobOf(all map[string]any, name string) (*gitlabJob, error) {
	if slices.Contains([]string{"stages", "variables", "default", "include", "workflow"}, name) || strings.HasPrefix(name, ".") {
		return nil, nil
	}
	text, err := yaml.Marshal(all[name])
	if err != nil {
		return nil, err
	}
	var job gitlabJob
	if err := yaml.Unmarshal(text, &job); err != nil {
		return nil, err
	}
	if _, ok := all[job.Extends]; job.Extends != "" && !ok {
		return nil, fmt.Errorf("there is no %q to extend", job.Extends)
	}
	return &job, nil
}

// runs finds the first rule that holds.
func (j *gitlabJob) runs(given map[string]string) (bool, error) {
	known := scope{func(name string) (string, error) {
		variable, ok := strings.CutPrefix(name, "$")
		if !ok {
			return "", fmt.Errorf("%q is no variable", name)
		}
		return given[variable], nil // one that is not set is empty
	}}
	for _, rule := range j.Rules {
		if holds, err := known.holds(rule.If); holds || err != nil {
			return rule.When != "never", err
		}
	}
	return len(j.Rules) == 0, nil
}

func (j *gitlabJob) step(name string, given map[string]string) Step {
	env := merged(given)
	for key, value := range j.Variables {
		env[key] = os.Expand(value, func(variable string) string { return given[variable] })
	}
	return Step{Job: name, Script: strings.Join(j.Script, "\n"), Env: env, Checkout: env["GIT_STRATEGY"] != "none"}
}

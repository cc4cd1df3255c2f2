package workflowtest

import (
	"fmt"
	"path"
	"regexp"
	"strings"

	"sigs.k8s.io/yaml"
)

type azureJob struct {
	Job       string `json:"job"`
	Condition string `json:"condition"`
	Steps     []struct {
		Checkout string            `json:"checkout"`
		Bash     string            `json:"bash"`
		Env      map[string]string `json:"env"`
	} `json:"steps"`
}

// Azure is Azure Pipelines.
func Azure(files map[string][]byte, e Event) ([]Step, error) {
	const name = "azure-pipelines.yml"
	var pipeline struct {
		Parameters []struct {
			Name    string `json:"name"`
			Default string `json:"default"`
		} `json:"parameters"`
		Variables map[string]string `json:"variables"`
		Jobs      []azureJob        `json:"jobs"`
	}
	if err := yaml.Unmarshal(files[name], &pipeline); err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	a := &azure{parameters: map[string]string{}, variables: azureVariables(e), secret: map[string]bool{"System.AccessToken": true, "KALYPSO_LEDGER": true, "KALYPSO_CHART_PASSWORD": true}}
	for _, p := range pipeline.Parameters {
		a.parameters[p.Name] = p.Default
	}
	if e.Kind == ConfigChanged { // az pipelines run --parameters environment=...
		a.parameters["environment"] = e.Environment
	}
	for _, name := range sorted(pipeline.Variables) {
		value, err := a.fill(pipeline.Variables[name])
		if err != nil {
			return nil, fmt.Errorf("variable %q: %w", name, err)
		}
		a.variables[name] = value
	}
	var steps []Step
	for _, j := range pipeline.Jobs {
		made, err := a.job(j)
		if err != nil {
			return nil, fmt.Errorf("job %q: %w", j.Job, err)
		}
		steps = append(steps, made...)
	}
	return steps, nil
}

// azureVariables are those that Azure Pipelines gives, and those of the pipeline.
func azureVariables(e Event) map[string]string {
	server, place := site(e.URL)
	parts := strings.Split(place, "/") // organization, project, _git, repository
	reason := map[Kind]string{Push: "IndividualCI", Schedule: "Schedule", ConfigChanged: "Manual"}[e.Kind]
	return merged(map[string]string{
		"System.CollectionUri": server + "/" + parts[0] + "/", "System.TeamProject": parts[1], "Build.Repository.Name": path.Base(place),
		"Build.Reason": reason, "Build.SourceVersion": e.Commit, "Build.SourceBranch": "refs/heads/" + e.Branch, "Build.BuildId": e.Number,
		"System.AccessToken": e.Token,
	}, e.Settings)
}

type azure struct {
	parameters, variables map[string]string
	// secret are the variables that scripts have only where a step maps them.
	secret map[string]bool
}

var (
	azureParameter = regexp.MustCompile(`\$\{\{\s*parameters\.(\w+)\s*\}\}`)
	azureMacro     = regexp.MustCompile(`\$\(([\w.]+)\)`)
	azureRuntime   = regexp.MustCompile(`^\$\[(.*)\]$`)
)

// fill replaces what is filled in before a job runs. A macro of a variable that is not set stays as it is.
func (a *azure) fill(text string) (string, error) {
	text = azureParameter.ReplaceAllStringFunc(text, func(found string) string {
		return a.parameters[azureParameter.FindStringSubmatch(found)[1]]
	})
	if m := azureRuntime.FindStringSubmatch(text); m != nil {
		return a.scope().eval(m[1])
	}
	return azureMacro.ReplaceAllStringFunc(text, func(found string) string {
		if value, ok := a.variables[azureMacro.FindStringSubmatch(found)[1]]; ok {
			return value
		}
		return found
	}), nil
}

func (a *azure) scope() scope {
	return scope{func(name string) (string, error) {
		variable, ok := strings.CutPrefix(name, "variables.")
		if !ok {
			return "", fmt.Errorf("%q is no variable", name)
		}
		return a.variables[variable], nil // one that is not set is empty
	}}
}

func (a *azure) job(j azureJob) ([]Step, error) {
	condition, err := a.fill(j.Condition)
	if err != nil {
		return nil, err
	}
	if runs, err := a.scope().holds(condition); !runs || err != nil {
		return nil, err
	}
	var steps []Step
	checkout := true // what a job does by itself
	for _, s := range j.Steps {
		if s.Checkout != "" {
			checkout = s.Checkout != "none"
		}
		if s.Bash == "" {
			continue
		}
		step := Step{Job: j.Job, Env: a.environment(), Checkout: checkout}
		if step.Script, err = a.fill(s.Bash); err != nil {
			return nil, err
		}
		for name, value := range s.Env {
			if step.Env[name], err = a.fill(value); err != nil {
				return nil, err
			}
		}
		steps = append(steps, step)
	}
	return steps, nil
}

// environment are the variables as scripts have them.
func (a *azure) environment() map[string]string {
	env := map[string]string{"TF_BUILD": "True"}
	for name, value := range a.variables {
		if !a.secret[name] {
			env[strings.ToUpper(strings.ReplaceAll(name, ".", "_"))] = value
		}
	}
	return env
}

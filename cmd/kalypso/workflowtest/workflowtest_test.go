package workflowtest_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kalypso-io/kalypso/cmd/kalypso/workflowtest"
)

const github = `
on:
  push:
env: {PLACE: here}
jobs:
  second:
    if: github.event_name == 'push' && !inputs.commit
    needs: [first]
    steps:
      - run: echo "$WHO"
        env: {WHO: "${{ inputs.environment || github.event.client_payload.environment || 'nobody' }}"}
  first:
    steps:
      - uses: actions/checkout@v1
      - run: pwd
  third:
    if: ${{ inputs.commit }}
    needs: second
    steps:
      - run: "false"
`

func ExampleGitHub() {
	steps, err := workflowtest.GitHub(map[string][]byte{"ci.yml": []byte(github)}, workflowtest.Event{
		Kind: workflowtest.Push, URL: "https://github.com/acme/shop", Branch: "main", Commit: "3f2a9c1",
	})
	for _, s := range steps {
		fmt.Printf("%s: %s %v %q %q\n", s.Job, s.Script, s.Checkout, s.Env["PLACE"], s.Env["WHO"])
	}
	fmt.Println(err)
	// Output:
	// first: pwd true "here" ""
	// second: echo "$WHO" false "here" "nobody"
	// <nil>
}

const gitlab = `
stages: [one, two]
variables: {PLACE: here}
.base:
  before_script: [go install]
late:
  extends: .base
  stage: two
  rules:
    - if: $CI_PIPELINE_SOURCE == "merge_request_event"
      when: never
    - if: $TOKEN && $CI_COMMIT_BRANCH == "main" && $EVENT != "config-changed"
  variables: {GIT_STRATEGY: none, MINE: $TOKEN}
  script: [echo one, echo two]
early:
  stage: one
  script: [pwd]
`

func ExampleGitLab() {
	event := workflowtest.Event{
		Kind: workflowtest.Push, URL: "https://gitlab.com/acme/shop", Branch: "main", Settings: map[string]string{"TOKEN": "t"},
	}
	for _, event.Kind = range []workflowtest.Kind{workflowtest.Push, workflowtest.ConfigChanged} {
		steps, err := workflowtest.GitLab(map[string][]byte{".gitlab-ci.yml": []byte(gitlab)}, event)
		for _, s := range steps {
			fmt.Printf("%s: %s %q %v %q\n", event.Kind, s.Job, s.Script, s.Checkout, s.Env["MINE"])
		}
		fmt.Println(err)
	}
	// Output:
	// push: early "pwd" true ""
	// push: late "echo one\necho two" false "t"
	// <nil>
	// config-changed: early "pwd" true ""
	// <nil>
}

const azure = `
parameters:
  - {name: environment, default: none}
variables:
  SOURCE: $(System.CollectionUri)$(System.TeamProject)/_git/$(Build.Repository.Name)
  PUSHED: $[in(variables['Build.Reason'], 'IndividualCI', 'BatchedCI')]
jobs:
  - job: pushed
    condition: and(succeeded(), or(eq(variables.PUSHED, true), eq(variables['Build.Reason'], 'PullRequest')))
    steps:
      - checkout: none
      - bash: echo "$SOURCE"
        env: {TOKEN: $(System.AccessToken), OTHER: $(NOT_SET)}
  - job: asked
    condition: ne('${{ parameters.environment }}', 'none')
    steps:
      - bash: echo ${{ parameters.environment }}
`

func ExampleAzure() {
	event := workflowtest.Event{URL: "https://dev.azure.com/acme/apps/_git/shop", Environment: "stage", Token: "t"}
	for _, event.Kind = range []workflowtest.Kind{workflowtest.Push, workflowtest.ConfigChanged} {
		steps, err := workflowtest.Azure(map[string][]byte{"azure-pipelines.yml": []byte(azure)}, event)
		for _, s := range steps {
			fmt.Printf("%s: %s %q %v %s %q %q\n", event.Kind, s.Job, s.Script, s.Checkout, s.Env["SOURCE"], s.Env["TOKEN"], s.Env["OTHER"])
		}
		fmt.Println(err)
	}
	// Output:
	// push: pushed "echo \"$SOURCE\"" false https://dev.azure.com/acme/apps/_git/shop "t" "$(NOT_SET)"
	// <nil>
	// config-changed: asked "echo stage" true https://dev.azure.com/acme/apps/_git/shop "" ""
	// <nil>
}

const bitbucket = `
definitions:
  steps:
    - step: &check
        name: check
        script: [go install kalypso, pwd]
    - step: &deploy
        name: deploy
        deployment: kalypso
        clone: {enabled: false}
        script: ['echo "$ENVIRONMENT"', 'echo "$DELIVERY_TOKEN"']
pipelines:
  branches:
    main:
      - step: *check
      - step: *deploy
  custom:
    config-changed:
      - variables: [{name: ENVIRONMENT}]
      - step: *deploy
`

func ExampleBitbucket() {
	event := workflowtest.Event{
		URL: "https://bitbucket.org/acme/shop", Branch: "main", Environment: "stage", Settings: map[string]string{"DELIVERY_TOKEN": "t"},
	}
	for _, event.Kind = range []workflowtest.Kind{workflowtest.Push, workflowtest.ConfigChanged} {
		steps, err := workflowtest.Bitbucket(map[string][]byte{"bitbucket-pipelines.yml": []byte(bitbucket)}, event)
		for _, s := range steps {
			fmt.Printf("%s: %s %q %v %s %q %q\n", event.Kind, s.Job, s.Script, s.Checkout, s.Env["BITBUCKET_REPO_FULL_NAME"], s.Env["ENVIRONMENT"], s.Env["DELIVERY_TOKEN"])
		}
		fmt.Println(err)
	}
	// Output:
	// push: check "pwd" true acme/shop "" ""
	// push: deploy "echo \"$ENVIRONMENT\"\necho \"$DELIVERY_TOKEN\"" false acme/shop "" "t"
	// <nil>
	// config-changed: deploy "echo \"$ENVIRONMENT\"\necho \"$DELIVERY_TOKEN\"" false acme/shop "stage" "t"
	// <nil>
}

// TestNobodyGuesses: what a CI system would not understand, or fill in with nothing, is an error.
func TestNobodyGuesses(t *testing.T) {
	for name, test := range map[string]struct {
		system     workflowtest.System
		file, text string
	}{
		"a secret that nobody has":     {workflowtest.GitHub, "ci.yml", strings.ReplaceAll(github, "inputs.environment", "secrets.NOBODYS")},
		"a job that is not there":      {workflowtest.GitHub, "ci.yml", strings.ReplaceAll(github, "[first]", "[zeroth]")},
		"an expression that goes on":   {workflowtest.GitHub, "ci.yml", strings.ReplaceAll(github, "&& !inputs.commit", "inputs.commit")},
		"a job to extend":              {workflowtest.GitLab, ".gitlab-ci.yml", strings.ReplaceAll(gitlab, "extends: .base", "extends: .bass")},
		"a name that is no variable":   {workflowtest.GitLab, ".gitlab-ci.yml", strings.ReplaceAll(gitlab, "$TOKEN &&", "TOKEN &&")},
		"a function":                   {workflowtest.Azure, "azure-pipelines.yml", strings.ReplaceAll(azure, "succeeded()", "successful()")},
		"a parenthesis that is missed": {workflowtest.Azure, "azure-pipelines.yml", strings.ReplaceAll(azure, "'PullRequest'))", "'PullRequest')")},
		"a deployment twice":           {workflowtest.Bitbucket, "bitbucket-pipelines.yml", strings.ReplaceAll(bitbucket, "      - step: *check\n", "      - step: *deploy\n")},
		"a variable that is not given": {workflowtest.Bitbucket, "bitbucket-pipelines.yml", strings.ReplaceAll(strings.ReplaceAll(bitbucket, "{name: ENVIRONMENT}", "{name: OTHER}"), "branches:\n    main:", "branches:\n    other:")},
		"no YAML":                      {workflowtest.Azure, "azure-pipelines.yml", "jobs: ["},
	} {
		_, err := test.system(map[string][]byte{test.file: []byte(test.text)}, workflowtest.Event{
			Kind: workflowtest.Push, URL: "https://git.example/acme/apps/_git/shop", Branch: "main", Settings: map[string]string{"TOKEN": "t"},
		})
		if err == nil {
			t.Errorf("%s: got no error", name)
		}
	}
}

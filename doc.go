// Package kalypso is the map of the module. It holds no code, only the tests of the module's conventions.
//
// Kalypso runs many applications on many Kubernetes clusters through Git: application teams say what should run,
// platform teams say where it may run, and Kalypso matches the two.
// ARCHITECTURE.md shows how the packages fit together, and CONTRIBUTING.md has the glossary.
//
// # Packages
//
// In reading order, from the documents to the program:
//
//	api/scheduler/v1alpha1         the documents both teams write, as Go types
//	api/app/v1alpha1               how an application is delivered
//	api/hub/v1alpha1               clusters, versions, and what clusters report
//
//	internal/fleet                 documents -> snapshot of an environment
//	internal/schedule/placement    policies, targets and cluster types -> decisions with reasons
//	internal/schedule/config       layers -> configuration of an assignment
//	internal/schedule/render       templates -> manifests of an assignment
//	internal/schedule/bundle       assignments -> tree of files, with an inventory
//	internal/schedule/plan         two trees -> what changes
//	internal/schedule/pull         the objects by which a cluster pulls its folder, for each reconciler
//	internal/schedule/carry        published commit -> signed file -> repositories and registry behind an air gap
//	internal/schedule              all of it in order: repositories -> draft -> pull request
//
//	internal/chart                 what rendering takes and returns, as plain data; images and archives
//	internal/chart/values          layered values
//	internal/chart/remote          fetches charts, and looks up images
//	internal/chart/engine          a chart, kustomization or manifests, with layered values -> objects of a target
//	internal/chart/sandbox         runs the engine in a process with limits
//	internal/check                 manifests -> findings
//	internal/check/scan            scans of images and charts, and what their results mean
//	internal/check/scanner         runs those scans, once for each digest
//	internal/deliver/tree          manifests of an application -> tree of files
//	internal/deliver               the application's pipeline: source and configuration -> draft -> pull request
//
//	internal/git                   reads and writes Git repositories
//	internal/forge                 port: pull requests, statuses, comments; one adapter for each forge below it
//	internal/pullrequest           keeps the one pull request of a branch up to date, for both pipelines
//
//	internal/ledger                port: what ran where and when; adapters below it
//	internal/promote/comply        expected reconcilers and their reports -> verdict on a commit
//	internal/promote/decide        the state of a chain of environments -> next actions, and why the rest waits
//	internal/promote/measure       answers of verifications -> passed, or why not
//	internal/promote/verify        checks after a rollout: URLs, programs and queries
//	internal/promote               gathers that state, and carries out the actions
//
//	internal/hub/ingest            takes reports of clusters into the ledger
//	internal/hub/record            takes what GitOps branches want into the ledger
//	internal/hub/query             answers questions about the fleet
//	internal/hub/client            the server's API, for commands and agents
//	internal/agent                 runs in a cluster, and reports to the server
//	internal/agent/reconciler      reads Flux, Argo CD, Fleet and other reconcilers of a cluster
//
//	internal/plane                 one control plane at work
//	internal/repository            connects flows to Git
//	internal/serve                 the server: rounds, webhooks, configuration
//	internal/serve/api             its HTTP API
//	internal/serve/access          roles, tokens and sign-in
//	internal/serve/session         sessions of browsers
//	internal/serve/web             its pages
//	internal/serve/wiring          connects forges, Git, the ledger and pages to a server
//	internal/operator              the same rounds for ControlPlane objects of a Kubernetes cluster
//	internal/operator/tenant       connects one of them to Git, its forge and its ledger
//	internal/cli                   what commands share: arguments, output formats, exit codes
//	internal/cli/backend           whom a command asks: a server, or a ledger directly
//	internal/cli/garbage           delays garbage collection in short commands
//	internal/cli/output            results as text
//	internal/cli/terminal          styles, tables and progress; escapes what a terminal would obey
//	internal/importer/...          files of other systems -> repositories
//	internal/sample                the tutorial's fleet
//	internal/sample/scaffold       repositories and workflows to start from
//	internal/sample/simulate       simulated clusters, which follow Git and report
//
//	internal/sqlfile               migrates schemas, reads statements; sqlitefile opens SQLite files
//	internal/text/...              secrets that do not print, repository URLs, revisions, Markdown, JSON schemas, order of and typos in names
//	cmd/kalypso                    the command line
//	cmd/kalypso-agent              the agent as a program of its own
//	cmd/kalypso-operator           the operator
//
// The tables in layers_test.go say which package may import which.
package kalypso

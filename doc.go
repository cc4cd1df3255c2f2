// Package kalypso connects two teams through Git: application teams say what should run,
// platform teams say where it may run, and Kalypso schedules the one onto the other.
// This package is the map of the module and holds no code, only the tests of its conventions.
//
// # Words
//
// Each of these means one thing, in the code, the documents and what people see.
//
//	control plane    the platform team's repository: a branch main, and a branch for each environment
//	environment      a step on the way to production, such as dev or stage
//	workload         an application or platform service, as its team describes it
//	target           a place a workload wants to run at, in one environment: a deployment target
//	workspace        the team, or group of applications, that owns a workload
//	cluster type     clusters that are configured alike; what targets are scheduled onto
//	policy           a rule that schedules the targets it selects onto the cluster types it selects
//	assignment       the decision that a target runs on a cluster type
//	layer            a ConfigMap with platform configuration that applies to an assignment
//	template         text that is filled in for each assignment: its namespace, configuration, reconciler
//	GitOps           the repository that generated files are proposed to, and that clusters pull from
//	reconciler       the program in a cluster that pulls: Flux, Argo CD and others
//	held             kept as it was published last, because something it depends on cannot be used
//	problem          something a person should look at: what, where, and what to do about it
//	snapshot         everything known about one environment at fixed commits
//	plan             what a change does to the files and assignments of an environment
//	change           a pull request, or merge request; the living one of an environment is updated in place
//	commit           of main, where nothing else is said: what is promoted from environment to environment
//	gate             the rule how many clusters have to run a commit before it goes on
//	verdict          whether they do: each expected reconciler is reached, behind, failed, offline or missing
//	cluster          one physical cluster; its memberships say which environments it serves, as which cluster type
//	report           what a cluster says about one of its reconcilers
//	ledger           the memory of the fleet: what should run where, what ran where, and who moved it there
//	delivery         how a workload gets from a commit of its source to the manifests of its targets
//	finding          something that a rule does not like about a manifest
//	round            reading everything about an environment and making its change what it should be
//
// # Packages
//
// In reading order, from the nouns to the program:
//
//	api/scheduler/v1alpha1   the documents both teams write, as Go types
//	api/hub/v1alpha1         what is known about clusters and versions, and how clusters report
//	internal/fleet           documents to a snapshot of an environment
//	internal/placement       policies, targets and cluster types to decisions
//	internal/config          layers to the configuration of an assignment
//	internal/render          templates to the manifests of an assignment
//	internal/bundle          assignments to a tree of files
//	internal/plan            two trees to what changes
//	internal/git             reading and writing Git repositories
//	internal/chart           a chart, kustomization or manifests, with layered values, to the manifests of a target
//	internal/check           manifests to what is wrong with them, before anybody applies them
//	internal/scheduling      all of it in order: repositories to a plan, and to the one living change
//	internal/proposing       files to a living change, whatever they are
//	internal/delivery        the same as scheduling for applications: source and configuration to their GitOps repository
//	internal/forge           what a pull request, a status and a comment are, the same for all forges; adapters below
//	internal/compliance      expected clusters and what they report, to a verdict on a commit
//	internal/promotion       facts of a chain of environments, to what happens next and why the rest waits
//	internal/promoting       gathers those facts, and does what happens next
//	internal/ledger          what ran where, wanted and real, now and then; adapters below
//	internal/recording       what GitOps branches want, into the ledger
//	internal/reporting       what clusters say, into the ledger, and who is a cluster
//	internal/observing       questions about the fleet, answered from the ledger and the last rounds
//	internal/cluster         what the reconcilers of a cluster say about themselves
//	internal/agent           passes that on to the server
//	internal/chartrepo       fetches charts of others
//	internal/sandbox         renders charts in a process with limits
//	internal/verify          asks URLs and runs programs that verifications name
//	internal/server          polling, webhooks and the queue that keep fleets moving; access, session and api below
//	internal/web             the pages
//	internal/client          the server's API, for commands
//	internal/terminal        writes for people: styles, tables, progress, and nothing that a terminal would obey
//	internal/cli             what every command has in common: arguments, formats of results, exit codes
//	internal/asking          whom commands ask: a server, or a ledger directly
//	internal/answer          what flows found out, as texts for people
//	internal/scaffold        repositories and workflows to start from
//	internal/repository      lets flows read and write repositories
//	internal/simulation      clusters that are only simulated
//	internal/sample          the tutorial's fleet
//	internal/schemas         JSON Schemas of others, bounded, and what they wanted
//	internal/markdown        text of others in Markdown, without meaning
//	internal/visible         text of others as it is, with marks for what nobody would see
//	internal/secret          credentials that do not print
//	cmd/kalypso              the command line
//
// ARCHITECTURE.md shows how they fit together; the table in layers_test.go says who may import whom.
package kalypso

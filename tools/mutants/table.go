package main

// mutant is a mistake that the tests of an invariant have to notice.
type mutant struct {
	// invariant is its number in ARCHITECTURE.md.
	invariant int
	// name says what goes wrong.
	name string
	// file has the text old exactly once. It is replaced by new.
	file, old, new string
	// pkg is the package of the guard, and run its tests, separated by "|". At least one of them has to fail.
	pkg, run string
}

// mutants are at least three for each invariant, in the order of ARCHITECTURE.md.
var mutants = []mutant{
	{
		1, "the digest of files depends on their order",
		"internal/chart/file.go",
		"\tslices.SortStableFunc(sorted, func(a, b File) int { return strings.Compare(a.Path, b.Path) })\n\th := sha256.New()",
		"\th := sha256.New()",
		"internal/chart/engine", "TestOrderDoesNotMatter",
	},
	{
		1, "of two layers that match equally well, the one that is read last wins",
		"internal/schedule/config/layer.go",
		", cmp.Compare(a.config.Name, b.config.Name))",
		")",
		"internal/schedule/config", "TestOrderDoesNotMatter",
	},
	{
		1, "the objects of an environment are in the order of files",
		"internal/fleet/read.go",
		"slices.SortFunc(list, byName)\n\tkept = list[:0]",
		"kept = list[:0]",
		"internal/fleet", "TestFileOrder|TestDocumentOrder",
	},

	{
		2, "the last policy is not explained",
		"internal/schedule/placement/explain.go",
		"\tfor i := range d.candidates {\n\t\te.Policies[i] =",
		"\tfor i := range len(d.candidates) - 1 {\n\t\te.Policies[i] =",
		"internal/schedule/placement", "TestNoPairIsLost",
	},
	{
		2, "a filter refuses a pair without a reason",
		"internal/schedule/placement/rules.go",
		"\treturn refusal{StepFilters, text}",
		"\treturn refusal{StepFilters, text[:0]}",
		"internal/schedule/placement", "TestEveryPairHasAReason",
	},
	{
		2, "a pair that a selector leaves out has no step",
		"internal/schedule/placement/explain.go",
		"\t\tp.Step = StepSelectors\n",
		"",
		"internal/schedule/placement", "TestEveryPairHasAReason",
	},

	{
		3, "an object with a mistake is forgotten",
		"internal/fleet/parse.go",
		"\t\tp.unreadable = append(p.unreadable, u)\n",
		"",
		"internal/fleet", "TestNothingIsLost",
	},
	{
		3, "a broken document hides those after it",
		"internal/fleet/parse.go",
		"\t\tp.chunk(c)\n",
		"\t\tif p.chunk(c); len(p.unreadable) > 0 {\n\t\t\tbreak\n\t\t}\n",
		"internal/fleet", "TestRules",
	},
	{
		3, "a target that cannot be rendered loses its files",
		"internal/deliver/tree/tree.go",
		"\t\te.Files, e.Pin = now.Files, now.Pin\n",
		"\t\te.Pin = now.Pin\n",
		"internal/deliver/tree", "TestLifeOfATarget",
	},

	{
		4, "one removal more than the budget needs no approval",
		"internal/schedule/plan/budget.go",
		"\tif b.Removals > b.Allowed {",
		"\tif b.Removals > b.Allowed+1 {",
		"internal/schedule/plan", "TestRules",
	},
	{
		4, "an assignment is removed although what scheduled it cannot be read",
		"internal/schedule/bundle/finish.go",
		"\t\treason, typo := f.lost.removal(before), false\n",
		"\t\treason, typo := (*fleet.Problem)(nil), false\n",
		"internal/schedule/bundle", "TestAbsenceIsNotIntent",
	},
	{
		4, "what others need is removed",
		"internal/schedule/bundle/needed.go",
		"\tif len(leaving) == 0 || f.options.Approved {\n",
		"\tif len(leaving) >= 0 {\n",
		"internal/schedule/bundle", "TestNeededStays",
	},
	{
		4, "a source that was not read counts as empty",
		"internal/fleet/assemble.go",
		"\tcase !requested || f.Objects == nil:",
		"\tcase requested && f.Objects == nil:",
		"internal/fleet", "TestRules",
	},

	{
		5, "a target overwrites a file that Kalypso did not write",
		"internal/deliver/tree/published.go",
		"exists && !owned && !p.corrupted {",
		"exists && owned && !p.corrupted {",
		"internal/deliver/tree", "TestNeverTouchesOthers",
	},
	{
		5, "the README of a folder replaces one that somebody wrote",
		"internal/schedule/bundle/finish.go",
		"foreign != nil {",
		"foreign != nil && foreign.Message == \"\" {",
		"internal/schedule/bundle", "TestFilesOfOthersAreLeftAlone",
	},
	{
		5, "a folder that is not empty goes with the last generated file in it",
		"internal/git/folder_write.go",
		"if s.root.Remove(dir) != nil {",
		"if s.root.RemoveAll(dir) != nil {",
		"internal/git", "TestWriteFolderChangesOnlyWhatItIsTold",
	},

	{
		6, "an error repeats the credential that a Git server repeats",
		"internal/git/connect.go",
		"secret.Scrub(err.Error(), append(used.secrets(), l.password)...)",
		"err.Error()",
		"internal/git", "TestErrorsHideTheCredentialThatAServerRepeats",
	},
	{
		6, "the error of a Prometheus server repeats the token that it was sent",
		"internal/promote/verify/credential.go",
		"secrets := []secret.Value{c.Token, c.User, c.Password}",
		"secrets := []secret.Value{c.User}",
		"internal/promote/verify", "TestCredentialsThatServersRepeat",
	},
	{
		6, "a log prints a secret",
		"internal/text/secret/secret.go",
		"func (Value) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, hidden) }",
		"func (v Value) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, v.Reveal()) }",
		"internal/text/secret", "TestValueDoesNotPrint",
	},
	{
		6, "a generated commit records the password in a URL",
		"internal/schedule/load.go",
		"source.Name = secret.Redact(name) //",
		"source.Name = name //",
		"internal/schedule", "TestNamesHaveNoPasswords",
	},
	{
		6, "an explanation shows the password in a URL",
		"internal/schedule/inputs.go",
		"all[n].Repo = secret.Redact(all[n].Repo)",
		"_ = secret.Redact(all[n].Repo)",
		"internal/schedule", "TestInputsAreShownWithoutPasswords",
	},

	{
		7, "a verification that failed is forgotten when a newer commit enters",
		"internal/promote/decide/verifying.go",
		"\t\t\tresult.failed = result.failed || result.done // those after one that is missing have not begun\n\t\t\tresult.done = false\n",
		"\t\t\tresult.failed = present && (result.failed || result.done)\n\t\t\tresult.done = result.done && !present\n",
		"internal/promote/decide/model", "TestExplore",
	},
	{
		7, "an approval is not needed any more when a newer commit enters",
		"internal/promote/decide/verifying.go",
		"\t\tdefault:\n\t\t\tresult.done = false\n",
		"\t\tdefault:\n\t\t\tresult.done = result.done && !present && p.rules.Verify[i].Approval != nil\n",
		"internal/promote/decide/model", "TestExplore",
	},
	{
		7, "a commit that failed is returned to",
		"internal/promote/decide/evidence.go",
		"\t*ev = evidence{first: ev.first, seen: ev.seen, held: ev.held, failed: true}",
		"\tev.first, ev.proven = ev.first, ev.first",
		"internal/promote/decide/model", "TestExplore",
	},
	{
		7, "a commit soaks while its clusters are silent",
		"internal/promote/decide/evidence.go",
		"\tcase standing == comply.StandingHolds:\n\t\tw.hold(",
		"\tcase standing == comply.StandingHolds, standing == comply.StandingUnknown:\n\t\tw.hold(",
		"internal/promote/decide/model", "TestExplore",
	},
	{
		7, "what contains a commit that was taken back enters by itself",
		"internal/promote/decide/place.go",
		"if r.older(b.Commit, commit) && known && !merged.After(b.At) {",
		"if r.older(b.Commit, commit) && known && merged.IsZero() {",
		"internal/promote/decide/model", "TestExplore",
	},
	{
		7, "rings do not know which commit a revision has",
		"internal/promote/decide/evidence.go",
		"if source := r.Sources[commit]; source != \"\" {",
		"if source := r.Sources[commit]; source == \"-\" {",
		"internal/promote/decide/model", "TestExplore",
	},

	{
		8, "a pause holds a rollback",
		"internal/promote/decide/decide.go",
		"if commanded && r.goBack(p, d) {",
		"if commanded && p.env.Pause == nil && r.goBack(p, d) {",
		"internal/promote/decide/model", "TestExplore",
	},
	{
		8, "a freeze holds the rings of an environment that goes back",
		"internal/promote/decide/decide.go",
		"\tif hurries {\n\t\treturn \"\", time.Time{}\n\t}\n",
		"",
		"internal/promote/decide/model", "TestExplore",
	},
	{
		8, "a newer commit waits for an approval only if a status was posted",
		"internal/promote/decide/place.go",
		"\t\treturn !p.rules.newerWaits\n",
		"\t\treturn !p.rules.newerWaits && len(p.env.Statuses) == 0\n",
		"internal/promote/decide/model", "TestExplore",
	},

	{
		9, "files that were added to an assignment are not found",
		"internal/schedule/bundle/added.go",
		"return own.Path == file.Path }) || found(file)",
		"return own.Path == file.Path }) || true",
		"internal/schedule/bundle", "TestFilesThatNoInventoryLists",
	},
	{
		9, "a GitOps branch with something else counts as merged",
		"internal/promote/rollout.go",
		"\tif why := schedule.Unrendered(o.Plan.Problems); why != \"\" {",
		"\tif why := schedule.Unrendered(o.Plan.Problems); why == \"-\" {",
		"internal/promote", "TestRolloutOf",
	},
	{
		9, "a commit that was pushed to the GitOps branch enters rings",
		"internal/promote/ring.go",
		"\t\tif published || c.SHA == place.Rendered ||",
		"\t\tif true || published || c.SHA == place.Rendered ||",
		"internal/promote", "TestWhatWasNotRenderedEntersNoRing",
	},
}

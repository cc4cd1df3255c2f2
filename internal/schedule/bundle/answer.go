package bundle

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	schedulingv1 "github.com/kalypso-io/kalypso/api/scheduling/v1"
	"github.com/kalypso-io/kalypso/internal/fleet"
)

// answersFolder has a file for each policy with an external scheduler or extenders: what they answered.
const answersFolder = ".kalypso/schedulers"

// Answer is a recorded answer of an external scheduler or extender. As long as the question stays the same, it is used instead
// of another one, so that the files are a function of commits.
type Answer struct {
	// Scheduler is the name of the scheduler or extender.
	Scheduler string `json:"scheduler"`
	// Task is what it was asked for.
	Task schedulingv1.Task `json:"task"`
	// Digest is the digest of the question, and Facts that of the facts in it; empty if it had none.
	Digest string `json:"digest"`
	Facts  string `json:"facts,omitempty"`
	// Warnings, Decisions, Refused and Scores are those of the response.
	Warnings  []string                `json:"warnings,omitempty"`
	Decisions []schedulingv1.Decision `json:"decisions,omitzero"`
	Refused   []schedulingv1.Refusal  `json:"refused,omitzero"`
	Scores    []schedulingv1.Score    `json:"scores,omitzero"`
}

// Response returns the answer as a response.
func (a *Answer) Response() *schedulingv1.Response {
	return &schedulingv1.Response{
		Version: schedulingv1.Version, Digest: a.Digest, Warnings: a.Warnings, Decisions: a.Decisions, Refused: a.Refused, Scores: a.Scores,
	}
}

// answers is the file with the answers for a policy, with one pair per line:
//
//	{
//	  "version": 1,
//	  "environment": "dev",
//	  "policy": "cheapest",
//	  "sum": "6b1f…",
//	  "answers": [
//	    {
//	      "scheduler": "cost",
//	      "task": "schedule",
//	      "digest": "9e0a…",
//	      "decisions": [
//	        {"target": "shop-web", "clusterType": "small", "reason": "3 per hour"}
//	      ]
//	    }
//	  ]
//	}
//
// The sum is of the answers: with another one, the file was changed by hand, and the schedulers are asked again.
type answers struct {
	Version     int             `json:"version"`
	Environment string          `json:"environment"`
	Policy      string          `json:"policy"`
	Sum         string          `json:"sum"`
	Answers     json.RawMessage `json:"answers"`
}

const answersVersion = 1

// recorded are the published answers for a policy.
type recorded struct {
	file    File
	answers []Answer
	// foreign means that the file may not be one of ours. It is replaced if its policy needs it, but not deleted.
	foreign bool
}

func answersPath(root, policy string) string { return path.Join(root, answersFolder, policy+".json") }

// encodeAnswers writes the file of a policy. Equal answers give equal bytes.
func encodeAnswers(environment, policy string, list []Answer) []byte {
	var text bytes.Buffer
	text.WriteString("[")
	for i := range list {
		text.WriteString(strings.Repeat(",", min(i, 1)) + "\n    ")
		encodeAnswer(&text, &list[i])
	}
	text.WriteString("\n  ]")
	head := answers{Version: answersVersion, Environment: environment, Policy: policy, Sum: sumOf(text.Bytes())}
	return fmt.Appendf(nil, "{\n  \"version\": %d,\n  \"environment\": %s,\n  \"policy\": %s,\n  \"sum\": %s,\n  \"answers\": %s\n}\n",
		head.Version, quoteJSON(environment), quoteJSON(policy), quoteJSON(head.Sum), text.Bytes())
}

// encodeAnswer writes an answer with one pair per line, so that a difference shows the pairs that changed.
func encodeAnswer(text *bytes.Buffer, a *Answer) {
	fmt.Fprintf(text, "{\n      \"scheduler\": %s,\n      \"task\": %s,\n      \"digest\": %s", quoteJSON(a.Scheduler), quoteJSON(a.Task), quoteJSON(a.Digest))
	if a.Facts != "" {
		fmt.Fprintf(text, ",\n      \"facts\": %s", quoteJSON(a.Facts))
	}
	encodeList(text, "warnings", slices.Clone(a.Warnings), strings.Compare, len(a.Warnings) > 0)
	encodeList(text, "decisions", slices.Clone(a.Decisions), func(a, b schedulingv1.Decision) int {
		return cmp.Or(cmp.Compare(a.Target, b.Target), cmp.Compare(a.ClusterType, b.ClusterType))
	}, a.Decisions != nil)
	encodeList(text, "refused", slices.Clone(a.Refused), func(a, b schedulingv1.Refusal) int {
		return cmp.Or(cmp.Compare(a.Target, b.Target), cmp.Compare(a.ClusterType, b.ClusterType))
	}, a.Refused != nil)
	encodeList(text, "scores", slices.Clone(a.Scores), func(a, b schedulingv1.Score) int {
		return cmp.Or(cmp.Compare(a.Target, b.Target), cmp.Compare(a.ClusterType, b.ClusterType))
	}, a.Scores != nil)
	text.WriteString("\n    }")
}

func encodeList[T any](text *bytes.Buffer, name string, list []T, compare func(a, b T) int, present bool) {
	if !present {
		return
	}
	slices.SortStableFunc(list, compare)
	fmt.Fprintf(text, ",\n      %q: [", name)
	for i, element := range list {
		text.WriteString(strings.Repeat(",", min(i, 1)) + "\n        " + quoteJSON(element))
	}
	if len(list) > 0 {
		text.WriteString("\n      ")
	}
	text.WriteString("]")
}

// quoteJSON returns the JSON of a value that can always be encoded.
func quoteJSON(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return "null" // cannot happen
	}
	return string(text)
}

func sumOf(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// decodeAnswers parses the file of a policy. It does not trust the content: the caller checks each answer against its question.
func decodeAnswers(content []byte, policy string) (environment string, list []Answer, err error) {
	var file answers
	if err := DecodeInventory(content, &file, &file.Version, answersVersion); err != nil {
		return "", nil, err
	}
	if file.Policy != policy {
		return "", nil, fmt.Errorf("it is for policy %q", file.Policy)
	}
	if sumOf(file.Answers) != file.Sum {
		return file.Environment, nil, errors.New("it was changed by hand")
	}
	if err := json.Unmarshal(file.Answers, &list); err != nil {
		return file.Environment, nil, fmt.Errorf("decode: %w", err)
	}
	return file.Environment, list, nil
}

// readAnswers reads the recorded answers below root. Those that another environment owns are left alone.
func (p *Published) readAnswers(root string, exists func(environment string) bool) error {
	folder := path.Join(root, answersFolder)
	for _, file := range p.paths.below(folder) {
		policy, isJSON := strings.CutSuffix(strings.TrimPrefix(file, folder+"/"), ".json")
		if !isJSON || !isFolderName(policy) {
			continue
		}
		hash, _ := p.Hash(file)
		found := &recorded{file: File{Path: file, Hash: hash}}
		owner := ""
		_, problem, err := ReadInventory(p.branch, file, "the schedulers of the policy are asked again, and the file is written again",
			func(content []byte) (_ *answers, err error) {
				owner, found.answers, err = decodeAnswers(content, policy)
				return nil, err
			})
		if err != nil {
			return err
		}
		if owner != "" && owner != p.environment && (exists == nil || exists(owner)) {
			continue
		}
		if problem != nil {
			problem.Message = strings.Replace(problem.Message, "the inventory", "the recorded answers for policy "+policy, 1)
			p.Problems = append(p.Problems, *problem)
		}
		found.foreign = owner == ""
		p.answers[policy] = found
	}
	return nil
}

// ReadAnswers returns the recorded answers for an environment on a branch of which nothing else is needed, by policy. What
// cannot be read is left out.
func ReadAnswers(branch Branch, environment string) map[string][]Answer {
	r := branch.reader()
	t, _, err := r.at(branch.Top, nil, path.Join(branch.Root, answersFolder))
	if err != nil || r.all(t, nil, 0) != nil {
		return nil
	}
	p := &Published{branch: branch, environment: environment, paths: PathsOf(branch.Top), answers: map[string]*recorded{}}
	if err := p.readAnswers(branch.Root, nil); err != nil {
		return nil
	}
	found := map[string][]Answer{}
	for policy, known := range p.answers {
		found[policy] = known.answers
	}
	return found
}

// Answers returns the recorded answers of the schedulers and extenders of a policy.
func (p *Published) Answers(policy string) []Answer {
	if p == nil || p.answers[policy] == nil {
		return nil
	}
	return p.answers[policy].answers
}

// recordAnswers sets the files with the answers. A policy that has no new answers keeps its file, also one that may exist in
// what could not be read.
func (b *builder) recordAnswers(result *Bundle) {
	asks := map[string]bool{}
	for _, p := range b.snapshot.Policies {
		asks[p.Name] = p.External() || len(p.Extenders) > 0
	}
	files := map[string]File{}
	if b.published != nil {
		for policy, known := range b.published.answers {
			if _, exists := asks[policy]; asks[policy] || !exists && b.lost.policy(policy) {
				files[policy] = known.file
			}
		}
	}
	for policy, list := range b.options.Recorded {
		f := NewFile(answersPath(b.root, policy), encodeAnswers(b.snapshot.Environment, policy, list))
		if _, ours := files[policy]; b.published.obstacle(f.Path) != "" {
			continue
		} else if hash, exists := b.published.Hash(f.Path); exists && !ours {
			b.problems = append(b.problems, foreignAnswers(policy, f.Path))
			continue
		} else if exists && hash == f.Hash {
			f.content = extract{}
		}
		files[policy] = f
	}
	for _, policy := range slices.Sorted(maps.Keys(files)) {
		result.Answers = append(result.Answers, files[policy])
	}
}

func foreignAnswers(policy, file string) fleet.Problem {
	return fleet.Problem{
		Severity: fleet.SeverityError, Kind: fleet.KindOtherOwner, Object: policyRef(policy), Position: fleet.Position{Source: "gitops", File: file},
		Message: fmt.Sprintf("the answers for policy %q cannot be recorded: the file belongs to another environment", policy),
		Hint:    "give each environment a branch or path of its own in its GitOpsRepo",
	}
}

// policy reports whether a policy that is not in the snapshot may exist nevertheless.
func (l *lost) policy(name string) bool {
	_, nameless := l.nameless["SchedulingPolicy"]
	return l.file != nil || nameless || len(l.refs[policyRef(name)]) > 0
}

// ChangedAnswers returns the policies whose recorded answers change on the branch, sorted.
func (b *Bundle) ChangedAnswers() []string {
	var policies []string
	if b.published == nil {
		return nil
	}
	for _, f := range b.Answers {
		if f.Written() {
			policies = append(policies, strings.TrimSuffix(f.Name(), ".json"))
		}
	}
	for _, c := range b.deletedAnswers() {
		policies = append(policies, strings.TrimSuffix(path.Base(c.Path), ".json"))
	}
	slices.Sort(policies)
	return policies
}

// deletedAnswers returns the recorded answers that are no longer needed.
func (b *Bundle) deletedAnswers() []Change {
	if b.published == nil {
		return nil
	}
	keep := map[string]bool{}
	for _, f := range b.Answers {
		keep[f.Path] = true
	}
	var changes []Change
	for _, known := range b.published.answers {
		if !keep[known.file.Path] && !known.foreign {
			changes = append(changes, Change{Path: known.file.Path, Old: known.file.Hash})
		}
	}
	return changes
}

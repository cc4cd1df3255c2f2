package schedule

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/schedule/bundle"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// SavedPlanFormat is the version of the files of saved plans. It changes if an older program would misunderstand a file.
const SavedPlanFormat = 1

// MaxSavedPlan is the maximum size of such a file, in bytes.
const MaxSavedPlan = 256 << 20

// ErrPlanChanged is returned if a saved plan is not what would be written now.
var ErrPlanChanged = errors.New("the saved plan is not what would be written now")

// SavedPlan is a plan that is carried out later, unchanged or not at all. It selects and permits nothing: it is compared with a new draft of
// the same environment, which has to write the same bytes over the same files. So a file from elsewhere can only prevent a change.
type SavedPlan struct {
	Format int `json:"format"`
	// Kalypso is the version of the program that made it.
	Kalypso     string `json:"kalypso"`
	Environment string `json:"environment"`
	// Inputs are the commits that it was made from. Other commits with the same result carry it out as well, as after a merge.
	Inputs []Input `json:"inputs"`
	// GitOps is what it was compared with, which must not have moved.
	GitOps SavedGitOps `json:"gitops"`
	// Files are all files that are written or deleted, sorted by path.
	Files []SavedFile `json:"files"`
	// Plan is the [Report] that was shown.
	Plan json.RawMessage `json:"plan"`
	// Digest is the SHA-256 of the document without this field. It detects a damaged file; it does not prove who made it.
	Digest string `json:"digest,omitempty"`
}

// SavedGitOps is the GitOps branch of a saved plan.
type SavedGitOps struct {
	// Repository is its URL or path, without credentials. Paths can differ between machines.
	Repository string `json:"repository,omitempty"`
	Branch     string `json:"branch,omitempty"`
	// Path is that of the files of the environment; empty for the root.
	Path string `json:"path,omitempty"`
	// Commit is the head of the branch; empty if the branch did not exist, or for a folder.
	Commit string `json:"commit,omitempty"`
	// Folder means that a plain folder stood in for the branch.
	Folder bool `json:"folder,omitempty"`
}

// SavedFile is a file that a saved plan writes or deletes.
type SavedFile struct {
	Path string `json:"path"`
	// Before is the Git blob of the published file; empty for a new file.
	Before string `json:"before,omitempty"`
	// SHA256 is the digest of the new content; empty for a file that is deleted.
	SHA256 string `json:"sha256,omitempty"`
}

// Save returns the plan of a draft that is compared with the GitOps branch, or with a folder that stands in for it. version is that of the program.
func (d *Draft) Save(version string) (*SavedPlan, error) {
	switch {
	case d.GitOps == nil || d.Plan == nil:
		return nil, errors.New("a plan that is not compared with the GitOps branch cannot be carried out")
	case len(d.WhatIf) > 0:
		return nil, errors.New("a plan of imagined changes cannot be carried out")
	}
	at := d.GitOps.Location
	saved := &SavedPlan{
		Format: SavedPlanFormat, Kalypso: version, Environment: d.Plan.Environment, Inputs: d.Loaded.Inputs.All(),
		GitOps: SavedGitOps{Repository: secret.Redact(at.Repo), Branch: at.Branch, Path: at.Path, Commit: d.GitOps.Commit, Folder: at.Folder != ""},
		Files:  []SavedFile{},
	}
	for _, c := range d.Bundle.Changes() {
		saved.Files = append(saved.Files, savedFile(c))
	}
	var err error
	if saved.Plan, err = json.Marshal(d.Report()); err != nil {
		return nil, fmt.Errorf("encode the plan: %w", err)
	}
	saved.Digest, err = saved.digest()
	return saved, err
}

func savedFile(c bundle.Change) SavedFile {
	f := SavedFile{Path: c.Path}
	if c.Old != (bundle.Hash{}) {
		f.Before = hex.EncodeToString(c.Old[:])
	}
	if c.Content != nil {
		sum := sha256.Sum256(c.Content)
		f.SHA256 = hex.EncodeToString(sum[:])
	}
	return f
}

// digest returns what Digest has to be.
func (p SavedPlan) digest() (string, error) {
	p.Digest = ""
	text, err := json.Marshal(p) // also removes the white space of Plan
	if err != nil {
		return "", fmt.Errorf("encode the plan: %w", err)
	}
	sum := sha256.Sum256(text)
	return "sha256:" + hex.EncodeToString(sum[:]), nil
}

// ReadSavedPlan reads the file of a saved plan, which can be of any origin.
func ReadSavedPlan(r io.Reader) (*SavedPlan, error) {
	text, err := io.ReadAll(io.LimitReader(r, MaxSavedPlan+1))
	if err != nil {
		return nil, err
	}
	if len(text) > MaxSavedPlan {
		return nil, fmt.Errorf("it has more than %d MiB", MaxSavedPlan>>20)
	}
	var head struct {
		Format int `json:"format"`
	}
	if err := json.Unmarshal(text, &head); err != nil || head.Format < 1 {
		return nil, errors.New("it is not a plan of kalypso plan --out")
	}
	if head.Format > SavedPlanFormat {
		return nil, fmt.Errorf("it has format %d; this program knows up to %d", head.Format, SavedPlanFormat)
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	p := &SavedPlan{}
	if err := decoder.Decode(p); err != nil {
		return nil, errors.New("it has fields that a saved plan does not have, or of another type")
	}
	if sum, err := p.digest(); err != nil || sum != p.Digest {
		return nil, errors.New("it was changed after it was made, or is damaged: its digest is not that of its content")
	}
	return p, nil
}

// Check returns nil if a draft writes what the plan says, over what the plan was compared with. Otherwise the error wraps
// [ErrPlanChanged] and gives the reasons.
func (p *SavedPlan) Check(d *Draft) error {
	now, err := d.Save(p.Kalypso)
	if err != nil {
		return err
	}
	reasons := p.differences(now)
	if len(reasons) == 0 {
		return nil
	}
	return fmt.Errorf("%w:\n  %s", ErrPlanChanged, strings.Join(reasons, "\n  "))
}

// differences says what differs from a plan that was made now.
func (p *SavedPlan) differences(now *SavedPlan) []string {
	if p.Environment != now.Environment {
		return []string{fmt.Sprintf("it is of environment %q, not of %q", p.Environment, now.Environment)}
	}
	if reason := p.GitOps.difference(now.GitOps); reason != "" {
		return []string{reason}
	}
	reasons := fileDifferences(p.Files, now.Files)
	if len(reasons) == 0 && !bytes.Equal(shown(p.Plan), shown(now.Plan)) {
		reasons = []string{"the files are the same, but the plan that was shown is not: its problems, findings or positions differ"}
	}
	if len(reasons) == 0 {
		return nil
	}
	return append(reasons, inputDifferences(p.Inputs, now.Inputs)...)
}

// difference says why the files would be written elsewhere, or over others; empty if neither is the case.
func (g SavedGitOps) difference(now SavedGitOps) string {
	switch {
	case g.Folder != now.Folder && g.Folder:
		return "it is compared with a folder: carry it out with --out FOLDER"
	case g.Folder != now.Folder:
		return "it is compared with the GitOps branch, not with a folder: plan with --against FOLDER"
	case g.Branch != now.Branch || g.Path != now.Path || !fleet.IsLocal(g.Repository) && !fleet.IsLocal(now.Repository) && g.Repository != now.Repository:
		return fmt.Sprintf("the environment writes to %s now, not to %s", now, g)
	case g.Commit != now.Commit:
		return fmt.Sprintf("the GitOps branch moved: %s is at %s, and was at %s", now.Branch, short(now.Commit), short(g.Commit))
	}
	return ""
}

// String returns the place: "branch dev of https://github.com/acme/gitops, path east".
func (g SavedGitOps) String() string {
	if g.Folder {
		return "a folder"
	}
	text := fmt.Sprintf("branch %q of %q", g.Branch, secret.Redact(g.Repository))
	if g.Path != "" {
		text += fmt.Sprintf(", path %q", g.Path)
	}
	return text
}

func short(commit string) string {
	if commit == "" {
		return "no commit"
	}
	return fleet.ShortCommit(commit)
}

// maxReasons is how many files are named.
const maxReasons = 5

// fileDifferences names the files that would be written in another way. Both lists are sorted.
func fileDifferences(planned, now []SavedFile) []string {
	var reasons []string
	count := 0
	add := func(path, what string) {
		if count++; count <= maxReasons {
			reasons = append(reasons, fmt.Sprintf("%q %s", path, what))
		}
	}
	for i, k := 0, 0; i < len(planned) || k < len(now); {
		switch {
		case k == len(now) || i < len(planned) && planned[i].Path < now[k].Path:
			add(planned[i].Path, "is in the plan, and would not change now")
			i++
		case i == len(planned) || planned[i].Path > now[k].Path:
			add(now[k].Path, "is not in the plan, and would change now")
			k++
		default:
			switch was, is := planned[i], now[k]; {
			case was.Before != is.Before:
				add(is.Path, "has other content already")
			case was.SHA256 != is.SHA256:
				add(is.Path, "would get other content")
			}
			i, k = i+1, k+1
		}
	}
	if more := count - maxReasons; more > 0 {
		reasons = append(reasons, fmt.Sprintf("and %d more", more))
	}
	return reasons
}

// inputDifferences names the inputs that moved.
func inputDifferences(planned, now []Input) []string {
	was := map[[2]string]string{}
	for _, input := range planned {
		was[[2]string{input.Name, input.Branch}] = input.Commit
	}
	var reasons []string
	for _, input := range now {
		if commit, known := was[[2]string{input.Name, input.Branch}]; known && commit != input.Commit && len(reasons) < maxReasons {
			reasons = append(reasons, fmt.Sprintf("%s is at %s, and was at %s", input.Name, short(input.Commit), short(commit)))
		}
	}
	return reasons
}

// shown returns what a plan shows besides the commits that are compared, which other fields have: they differ after a merge.
func shown(report json.RawMessage) []byte {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(report, &fields); err != nil {
		return report
	}
	delete(fields, "before")
	delete(fields, "after")
	text, err := json.Marshal(fields)
	if err != nil {
		return report
	}
	return text
}

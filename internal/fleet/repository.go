package fleet

import (
	"slices"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
)

// checkEnvironment checks the fields that a snapshot needs, and enums.
func checkEnvironment(d *decoder, root *yaml.Node, env *v1alpha1.Environment) {
	d.repository(root, &env.Spec.ControlPlane, "spec", "controlPlane")
	p := env.Spec.Promotion
	if p == nil {
		return
	}
	oneOf(d, root, p.Approval, []v1alpha1.Approval{v1alpha1.ApprovalAutomatic, v1alpha1.ApprovalPullRequest}, "spec", "promotion", "approval")
	oneOf(d, root, p.OnFailure, []v1alpha1.FailureAction{v1alpha1.FailureStop, v1alpha1.FailureRollback}, "spec", "promotion", "onFailure")
	if p.Gate != nil {
		oneOf(d, root, p.Gate.Offline, []v1alpha1.OfflinePolicy{v1alpha1.OfflineBlock, v1alpha1.OfflineIgnore, v1alpha1.OfflineWait},
			"spec", "promotion", "gate", "offline")
	}
	checkRings(d, root, p.Rings, p.Verify)
}

// checkBaseRepo accepts a commit in either case, but not a short one, whose meaning can change.
func checkBaseRepo(d *decoder, root *yaml.Node, base *v1alpha1.BaseRepo) {
	d.repository(root, &base.Spec.Repository, "spec")
	base.Spec.Commit = strings.ToLower(base.Spec.Commit)
	if n := lookup(root, "spec", "commit"); n != nil && base.Spec.Commit != "" && !isCommit(base.Spec.Commit) {
		d.fail(KindInvalidValue, n, "write all 40 hexadecimal digits of the commit", "spec.commit %s is not a full commit SHA", quoteShort(n.Value))
	}
}

// isCommit reports whether s is a full SHA-1 or SHA-256 in lower case.
func isCommit(s string) bool {
	return (len(s) == 40 || len(s) == 64) && strings.Trim(s, "0123456789abcdef") == ""
}

func checkConfigRepo(d *decoder, root *yaml.Node, repo *v1alpha1.ConfigRepo) {
	d.repository(root, &repo.Spec, "spec")
}

func checkRegistration(d *decoder, root *yaml.Node, r *v1alpha1.WorkloadRegistration) {
	d.repository(root, &r.Spec.Workload, "spec", "workload")
	if n := lookup(root, "spec", "workspace"); n != nil {
		d.workspace(n, r.Spec.Workspace, "spec.workspace")
	}
}

// workspace reports a name that is not a label value.
func (d *decoder) workspace(n *yaml.Node, name, field string) {
	if len(validation.IsValidLabelValue(name)) > 0 {
		d.fail(KindInvalidValue, n, "use letters, digits, dashes, dots and underscores", "%s %s is not a label value", field, quoteShort(name))
	}
}

// checkGitOpsRepo reports and removes an invalid budget. The repository is used with the default budget, which is safe.
func checkGitOpsRepo(d *decoder, root *yaml.Node, repo *v1alpha1.GitOpsRepo) {
	d.repository(root, &repo.Spec.Repository, "spec")
	oneOf(d, root, repo.Spec.HandedOver, []v1alpha1.HandedOver{v1alpha1.HandedOverKeep, v1alpha1.HandedOverRemove}, "spec", "handedOver")
	n := lookup(root, "spec", "deletionBudget")
	if n == nil || repo.Spec.DeletionBudget == nil {
		return
	}
	_, problem := ParseDeletionBudget("spec.deletionBudget", repo.Spec.DeletionBudget)
	if problem == nil {
		return
	}
	d.report(problem.Severity, problem.Kind, n, problem.Hint, problem.Message)
	if problem.Severity == SeverityError {
		repo.Spec.DeletionBudget = nil
	}
}

// repository checks the Repository at the given keys and cleans its path.
func (d *decoder) repository(root *yaml.Node, r *v1alpha1.Repository, keys ...string) {
	at := func(name string) []string { return append(slices.Clone(keys), name) }
	d.require(root, at("repo")...)
	d.plainText(root, r.Repo, at("repo")...)
	d.plainText(root, r.Branch, at("branch")...)
	d.cleanPath(root, &r.Path, at("path")...)
}

// plainText reports control characters.
func (d *decoder) plainText(root *yaml.Node, value string, keys ...string) {
	if n := lookup(root, keys...); n != nil && strings.ContainsFunc(value, unicode.IsControl) {
		d.fail(KindInvalidValue, n, "", "%s %s has control characters", d.field(keys...), quoteShort(value))
	}
}

// cleanPath replaces a path by its shortest form, or reports it.
func (d *decoder) cleanPath(root *yaml.Node, path *string, keys ...string) {
	clean, err := CleanPath(*path)
	if n := lookup(root, keys...); n != nil && err != nil {
		d.fail(KindInvalidValue, n, "", "%s %s: %v", d.field(keys...), quoteShort(*path), err)
	}
	*path = clean
}

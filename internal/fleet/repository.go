package fleet

import (
	"regexp"
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

// checkGitOpsRepo reports and removes an invalid budget, an invalid place to publish to, and invalid paths of others. The repository is
// used with the default budget, which is safe, and nothing is published.
func checkGitOpsRepo(d *decoder, root *yaml.Node, repo *v1alpha1.GitOpsRepo) {
	d.repository(root, &repo.Spec.Repository, "spec")
	oneOf(d, root, repo.Spec.HandedOver, []v1alpha1.HandedOver{v1alpha1.HandedOverKeep, v1alpha1.HandedOverRemove}, "spec", "handedOver")
	checkPublish(d, root, repo)
	checkUnmanaged(d, root, repo)
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

// registryRepository is a repository of a registry: https://github.com/opencontainers/distribution-spec/blob/v1.1.1/spec.md#pulling-manifests.
var registryRepository = regexp.MustCompile(`^[A-Za-z0-9.-]+(:[0-9]+)?(/[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*)+$`)

// checkPublish reports and removes a place that is not a repository of a registry. A text with a credential is not repeated.
func checkPublish(d *decoder, root *yaml.Node, repo *v1alpha1.GitOpsRepo) {
	n := lookup(root, "spec", "publish")
	if n == nil || repo.Spec.Publish == "" {
		return
	}
	place, isRegistry := strings.CutPrefix(repo.Spec.Publish, "oci://")
	name, digest, hasDigest := strings.Cut(place, "@")
	host, _, _ := strings.Cut(name, "/")
	hint, wrong := "write oci://REGISTRY/REPOSITORY", ""
	switch {
	case hasDigest && strings.HasPrefix(digest, "sha256:"):
		wrong = "names a digest, which is known only after publishing"
	case hasDigest:
		wrong, hint = "has a credential", "remove it: a server has its own for the registry, and commands use those of docker login"
	case !isRegistry:
		wrong = quoteShort(repo.Spec.Publish) + " is not the address of a registry"
	case strings.LastIndexByte(name, ':') > len(host):
		wrong, hint = quoteShort(repo.Spec.Publish)+" has a tag", "remove it: versions are tagged with the environment and the commit"
	case len(repo.Spec.Publish) > maxPublish || !registryRepository.MatchString(name):
		wrong = quoteShort(repo.Spec.Publish) + " is not a repository of a registry"
	default:
		return
	}
	d.report(SeverityError, KindInvalidValue, n, hint, "spec.publish "+wrong+"; nothing is published")
	repo.Spec.Publish = ""
}

// maxPublish is how many characters the address of a repository of a registry can have.
const maxPublish = 512

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

package fleet

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// maxAddress is the maximum length of a repository address, in bytes.
const maxAddress = 2048

// protocols are the allowed protocols of manifests.repo, by the target's storage. Other values of storage are defined
// by templates, so any address is allowed for them. ssh includes the short form [user@]host:path.
var protocols = map[string][]string{
	"":     {"https", "http", "ssh"},
	"git":  {"https", "http", "ssh"},
	"oci":  {"oci"},
	"helm": {"https", "http", "oci"},
}

// checkManifests checks the location of a target's manifests. A cluster applies the folder of its cluster type as a whole:
// one object that it refuses would stop every other team, so a target with an invalid location is held.
func (d *decoder) checkManifests(parent *yaml.Node, keys ...string) {
	at := func(key string) []string { return append(slices.Clone(keys), "manifests", key) }
	for _, key := range []string{"storage", "branch", "tag", "path", "secret"} {
		d.plainText(parent, readText(lookup(parent, at(key)...)), at(key)...)
	}
	n := lookup(parent, at("repo")...)
	if n == nil {
		return
	}
	if wrong, hint := wrongAddress(readText(n), readText(lookup(parent, at("storage")...))); wrong != "" {
		d.fail(KindInvalidValue, n, hint, "%s %s", d.field(at("repo")...), wrong)
	}
}

// wrongAddress returns why reconcilers cannot use an address. Empty if they can.
// It does not quote an address that may contain a credential.
func wrongAddress(address, storage string) (wrong, hint string) {
	if len(address) > maxAddress {
		return fmt.Sprintf("is %d bytes long; the maximum is %d", len(address), maxAddress), ""
	}
	if strings.ContainsFunc(address, func(r rune) bool { return r <= ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 }) {
		return quoteShort(address) + " has blanks or control characters", ""
	}
	protocol := protocolOf(address)
	if secret.Redact(address) != address && !isHarmless(address, protocol) {
		return "contains a user, a password or a query, which may be a credential that all readers can see",
			"store credentials in a Secret of the cluster"
	}
	if allowed, known := protocols[storage]; known && protocol != "" && protocol != "file" && !slices.Contains(allowed, protocol) {
		return fmt.Sprintf("%s is not an address of storage %s", quoteShort(address), quoteShort(cmp.Or(storage, "git"))),
			"write one of " + strings.Join(allowed, "://, ") + "://"
	}
	return "", ""
}

// protocolOf returns the protocol of an address in lower case: the part before "://", ssh for [user@]host:path,
// and "" for a path.
func protocolOf(address string) string {
	if protocol, _, ok := strings.Cut(address, "://"); ok {
		return strings.ToLower(protocol)
	}
	if IsLocal(address) {
		return ""
	}
	return "ssh"
}

// isHarmless reports whether the user of an address is public:
// the user of ssh, or the organization in addresses of Azure DevOps.
func isHarmless(address, protocol string) bool {
	if protocol == "ssh" && !strings.Contains(address, "://") {
		return secret.Redact(address) == address
	}
	u, err := url.Parse(address)
	if err != nil || u.RawQuery != "" || u.Fragment != "" || u.User == nil {
		return false
	}
	_, password := u.User.Password()
	return !password && (protocol == "ssh" || u.Host == "dev.azure.com" && strings.HasPrefix(u.Path, "/"+u.User.Username()+"/"))
}

// locate resolves the address of a target's manifests for clusters: a relative one is relative to the repository
// of the target, like a Git submodule's. It returns false if clusters cannot reach the address.
//
// In a fleet that is entirely in local folders, the address is kept: no cluster uses it.
func (a *assembly) locate(t *Target, from string) bool {
	repo := t.Manifests["repo"]
	relative := IsRelative(repo)
	if !relative && !isPlace(repo) || IsLocal(from) && a.isLocal() {
		return true
	}
	hint := "write a URL that clusters can reach"
	if relative && !IsLocal(from) {
		joined, err := JoinURL(from, repo)
		if err == nil {
			t.Manifests["repo"] = fullURL(joined)
			t.Digest = t.Digest.with([]string{from})
			return true
		}
		a.problem(SeverityError, KindInvalidValue, t, hint, "manifests.repo: %v", err)
	} else {
		a.problem(SeverityError, KindInvalidValue, t, hint, "manifests.repo %s is a local folder, which clusters cannot reach", quoteShort(repo))
	}
	a.lose(t, Owner{})
	return false
}

// isPlace reports whether an address is certainly local. Without a leading slash it may be a host that
// a template completes.
func isPlace(address string) bool {
	return strings.HasPrefix(address, "/") || protocolOf(address) == "file"
}

func (a *assembly) isLocal() bool { return a.s.GitOps == nil || IsLocal(a.s.GitOps.Repo) }

// fullURL converts [user@]host:path to a URL, because not every reconciler supports the short form.
func fullURL(address string) string {
	if strings.Contains(address, "://") || IsLocal(address) {
		return address
	}
	host, path, _ := strings.Cut(address, ":")
	return "ssh://" + host + "/" + strings.TrimPrefix(path, "/")
}

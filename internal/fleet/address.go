package fleet

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// maxAddress is the longest address of a repository, in bytes.
const maxAddress = 2048

// protocols are those by which reconcilers get manifests, by what the target calls the storage. What other words mean
// is a matter of the templates, so any address is taken for them. ssh stands for the short form [user@]host:path as well.
var protocols = map[string][]string{
	"":     {"https", "http", "ssh"},
	"git":  {"https", "http", "ssh"},
	"oci":  {"oci"},
	"helm": {"https", "http", "oci"},
}

// checkManifests checks where a target says its manifests are. A cluster applies the folder of its cluster type as a whole:
// one object that it refuses stops those of every other team, so that such a target is held instead.
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

// wrongAddress says why an address cannot be one that reconcilers on clusters follow; empty when nothing is wrong.
// It does not quote an address that may have a credential in it.
func wrongAddress(address, storage string) (wrong, hint string) {
	if len(address) > maxAddress {
		return fmt.Sprintf("is %d bytes long, and no address is longer than %d", len(address), maxAddress), ""
	}
	if strings.ContainsFunc(address, func(r rune) bool { return r <= ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 }) {
		return quoteShort(address) + " has blanks or control characters", ""
	}
	protocol := protocolOf(address)
	if secret.Redact(address) != address && !isHarmless(address, protocol) {
		return "has a user, a password or a query in it, which may be a credential, and everybody can read it",
			"keep credentials in a Secret of the cluster"
	}
	if allowed, known := protocols[storage]; known && protocol != "" && protocol != "file" && !slices.Contains(allowed, protocol) {
		return fmt.Sprintf("%s is no address of storage %s", quoteShort(address), quoteShort(storageName(storage))),
			"write one of " + strings.Join(allowed, "://, ") + "://"
	}
	return "", ""
}

// storageName is what a target calls its storage, in full.
func storageName(storage string) string {
	if storage == "" {
		return "git"
	}
	return storage
}

// protocolOf returns how a repository is reached, in lower case: what stands before "://", and ssh for [user@]host:path.
// A path has none.
func protocolOf(address string) string {
	if protocol, _, ok := strings.Cut(address, "://"); ok {
		return strings.ToLower(protocol)
	}
	if IsLocal(address) {
		return ""
	}
	return "ssh"
}

// isHarmless says whether all that could be a credential in an address is a name that others know as well:
// that of ssh, or of the organization that Azure DevOps writes into the addresses it shows.
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

// locate makes the address of a target's manifests one that clusters can follow: a relative one counts from the repository
// that the target was read from, as those of Git submodules do. It says whether there is one.
//
// Where all is in folders of one machine the address stays as it is: such a fleet can be tried, and no cluster follows it.
func (a *assembly) locate(t *Target, from string) bool {
	repo := t.Manifests["repo"]
	relative := IsRelative(repo)
	if !relative && !isPlace(repo) || IsLocal(from) && a.isLocal() {
		return true
	}
	hint := "write the URL that clusters can reach it by"
	if relative && !IsLocal(from) {
		joined, err := JoinURL(from, repo)
		if err == nil {
			t.Manifests["repo"] = fullURL(joined)
			t.Digest = t.Digest.with([]string{from})
			return true
		}
		a.problem(SeverityError, KindInvalidValue, t, hint, "manifests.repo: %v", err)
	} else {
		a.problem(SeverityError, KindInvalidValue, t, hint, "manifests.repo %s is a folder, and clusters cannot reach it", quoteShort(repo))
	}
	a.lose(t)
	return false
}

// isPlace says whether an address is certainly one of this machine. Without a slash in front it may be a host that
// a template writes the rest of.
func isPlace(address string) bool {
	return strings.HasPrefix(address, "/") || protocolOf(address) == "file"
}

// isLocal says whether what is generated stays on this machine.
func (a *assembly) isLocal() bool { return a.s.GitOps == nil || IsLocal(a.s.GitOps.Repo) }

// fullURL writes [user@]host:path as a URL, because not every reconciler understands the short form.
func fullURL(address string) string {
	if strings.Contains(address, "://") || IsLocal(address) {
		return address
	}
	host, path, _ := strings.Cut(address, ":")
	return "ssh://" + host + "/" + strings.TrimPrefix(path, "/")
}

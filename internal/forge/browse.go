package forge

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// Browse has the addresses of a repository's pages on a forge. The zero value has none: its methods return "".
type Browse struct {
	Kind Kind
	// URL is the address of the repository, without ".git" and a slash at its end.
	URL string
}

// BrowseAt returns the pages of a repository with an identifying URL: https://host/owner/name.
func BrowseAt(kind Kind, repository string) Browse {
	u, err := url.Parse(repository)
	if err != nil || u.Host == "" {
		return Browse{}
	}
	at := strings.Trim(u.Path, "/")
	switch kind {
	case AzureDevOps:
		i := strings.LastIndexByte(at, '/')
		at = at[:i+1] + "_git" + at[max(i, 0):]
	case BitbucketServer:
		if at = bitbucketServerPage(at); at == "" {
			return Browse{}
		}
	}
	return Browse{Kind: kind, URL: u.Scheme + "://" + u.Host + "/" + escaped(at)}
}

// bitbucketServerPage returns the path of a repository's page from that of its clone: [PREFIX/]scm/PROJECT/NAME, where ~USER is the project
// of a user. It is empty for other paths.
func bitbucketServerPage(clone string) string {
	parts := strings.Split(clone, "/")
	n := len(parts)
	if n < 3 || parts[n-3] != "scm" {
		return ""
	}
	owner := []string{"projects", parts[n-2]}
	if user, ok := strings.CutPrefix(parts[n-2], "~"); ok {
		owner = []string{"users", user}
	}
	return strings.Join(slices.Concat(parts[:n-3], owner, []string{"repos", parts[n-1]}), "/")
}

// File returns the page of a file at a commit. Lines count from 1; 0 is the whole file.
func (b Browse) File(commit, path string, line int) string {
	if b.URL == "" || commit == "" || path == "" {
		return ""
	}
	at, file := url.PathEscape(commit), strings.Trim(path, "/")
	path = escaped(file)
	mark := ""
	if line > 0 {
		mark = "#L" + strconv.Itoa(line)
	}
	switch b.Kind {
	case GitHub:
		return b.URL + "/blob/" + at + "/" + path + "?plain=1" + mark // Markdown has lines only as plain text
	case GitLab:
		return b.URL + "/-/blob/" + at + "/" + path + mark
	case Gitea:
		return b.URL + "/src/commit/" + at + "/" + path + mark
	case Bitbucket:
		return b.URL + "/src/" + at + "/" + path + strings.Replace(mark, "#L", "#lines-", 1)
	case BitbucketServer:
		return b.URL + "/browse/" + path + "?at=" + at + strings.Replace(mark, "#L", "#", 1)
	case Local:
		return b.URL + "/files/" + path + "?ref=" + at + mark
	case AzureDevOps:
		q := url.Values{"path": {"/" + file}, "version": {"GC" + commit}}
		if line > 0 {
			q.Set("line", strconv.Itoa(line))
			q.Set("lineEnd", strconv.Itoa(line+1))
			q.Set("lineStartColumn", "1")
			q.Set("lineEndColumn", "1")
		}
		return b.URL + "?" + q.Encode()
	}
	return ""
}

// Commit returns the page of a commit; for the local forge, the files at it.
func (b Browse) Commit(commit string) string {
	if b.URL == "" || commit == "" {
		return ""
	}
	at := url.PathEscape(commit)
	switch b.Kind {
	case GitHub, Gitea, AzureDevOps:
		return b.URL + "/commit/" + at
	case GitLab:
		return b.URL + "/-/commit/" + at
	case Bitbucket, BitbucketServer:
		return b.URL + "/commits/" + at
	case Local:
		return b.URL + "?ref=" + at
	}
	return ""
}

// Compare returns the page of the differences from one commit to another; "" if the forge has none.
func (b Browse) Compare(from, to string) string {
	if b.URL == "" || from == "" || to == "" {
		return ""
	}
	between := url.PathEscape(from) + "..." + url.PathEscape(to)
	switch b.Kind {
	case GitHub, Gitea:
		return b.URL + "/compare/" + between
	case GitLab:
		return b.URL + "/-/compare/" + between
	case AzureDevOps:
		return b.URL + "/branchCompare?" + url.Values{"baseVersion": {"GC" + from}, "targetVersion": {"GC" + to}}.Encode()
	case Bitbucket:
		return b.URL + "/branches/compare/" + url.PathEscape(to) + ".." + url.PathEscape(from)
	case BitbucketServer:
		return b.URL + "/compare/diff?" + url.Values{"sourceBranch": {to}, "targetBranch": {from}}.Encode()
	case Local:
	}
	return ""
}

// escaped escapes the segments of a path.
func escaped(path string) string {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	for i := range parts {
		parts[i] = url.PathEscape(parts[i])
	}
	return strings.Join(parts, "/")
}

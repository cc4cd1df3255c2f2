package forge

import "testing"

func TestPagesOfRepositories(t *testing.T) {
	const commit = "0123456789abcdef"
	for _, tc := range []struct {
		kind                          Kind
		repository                    string
		file, commitPage, comparePage string
	}{
		{
			GitHub, "https://github.com/acme/fleet",
			"https://github.com/acme/fleet/blob/0123456789abcdef/a%20b/c%23.yaml?plain=1#L7", "https://github.com/acme/fleet/commit/0123456789abcdef",
			"https://github.com/acme/fleet/compare/0123456789abcdef...def",
		},
		{
			GitLab, "https://gitlab.com/acme/team/fleet",
			"https://gitlab.com/acme/team/fleet/-/blob/0123456789abcdef/a%20b/c%23.yaml#L7", "https://gitlab.com/acme/team/fleet/-/commit/0123456789abcdef",
			"https://gitlab.com/acme/team/fleet/-/compare/0123456789abcdef...def",
		},
		{
			Gitea, "http://git.example.com:3000/acme/fleet",
			"http://git.example.com:3000/acme/fleet/src/commit/0123456789abcdef/a%20b/c%23.yaml#L7", "http://git.example.com:3000/acme/fleet/commit/0123456789abcdef",
			"http://git.example.com:3000/acme/fleet/compare/0123456789abcdef...def",
		},
		{
			AzureDevOps, "https://dev.azure.com/org/My Project/fleet",
			"https://dev.azure.com/org/My%20Project/_git/fleet?line=7&lineEnd=8&lineEndColumn=1&lineStartColumn=1&path=%2Fa+b%2Fc%23.yaml&version=GC0123456789abcdef",
			"https://dev.azure.com/org/My%20Project/_git/fleet/commit/0123456789abcdef",
			"https://dev.azure.com/org/My%20Project/_git/fleet/branchCompare?baseVersion=GC0123456789abcdef&targetVersion=GCdef",
		},
		{
			Local, "http://127.0.0.1:8080/platform/fleet",
			"http://127.0.0.1:8080/platform/fleet/files/a%20b/c%23.yaml?ref=0123456789abcdef#L7", "http://127.0.0.1:8080/platform/fleet?ref=0123456789abcdef", "",
		},
		{
			Bitbucket, "https://bitbucket.org/acme/fleet",
			"https://bitbucket.org/acme/fleet/src/0123456789abcdef/a%20b/c%23.yaml#lines-7", "https://bitbucket.org/acme/fleet/commits/0123456789abcdef",
			"https://bitbucket.org/acme/fleet/branches/compare/def..0123456789abcdef",
		},
		{
			BitbucketServer, "https://git.example.com/bitbucket/scm/plat/fleet",
			"https://git.example.com/bitbucket/projects/plat/repos/fleet/browse/a%20b/c%23.yaml?at=0123456789abcdef#7",
			"https://git.example.com/bitbucket/projects/plat/repos/fleet/commits/0123456789abcdef",
			"https://git.example.com/bitbucket/projects/plat/repos/fleet/compare/diff?sourceBranch=def&targetBranch=0123456789abcdef",
		},
		{
			BitbucketServer, "https://git.example.com/scm/~ann/fleet",
			"https://git.example.com/users/ann/repos/fleet/browse/a%20b/c%23.yaml?at=0123456789abcdef#7", "https://git.example.com/users/ann/repos/fleet/commits/0123456789abcdef",
			"https://git.example.com/users/ann/repos/fleet/compare/diff?sourceBranch=def&targetBranch=0123456789abcdef",
		},
		{BitbucketServer, "https://git.example.com/fleet", "", "", ""},
		{Kind("other"), "https://git.example.com/fleet", "", "", ""},
		{GitHub, "/srv/git/fleet", "", "", ""},
	} {
		b := BrowseAt(tc.kind, tc.repository)
		if got := b.File(commit, "a b/c#.yaml", 7); got != tc.file {
			t.Errorf("%s: file %s, want %s", tc.kind, got, tc.file)
		}
		if got := b.Commit(commit); got != tc.commitPage {
			t.Errorf("%s: commit %s, want %s", tc.kind, got, tc.commitPage)
		}
		if got := b.Compare(commit, "def"); got != tc.comparePage {
			t.Errorf("%s: comparison %s, want %s", tc.kind, got, tc.comparePage)
		}
		if b.File("", "a", 1)+b.File(commit, "", 1)+b.Commit("")+b.Compare("", commit) != "" {
			t.Errorf("%s: a page of nothing", tc.kind)
		}
	}
}

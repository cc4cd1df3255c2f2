package fleet

import "strings"

// shortCommit is the length of an abbreviated hash, as in git log --oneline.
const shortCommit = 7

// ShortCommit abbreviates the hash of a commit to 7 digits. Any other text, such as the name of a branch, is returned unchanged.
func ShortCommit(commit string) string {
	if len(commit) > shortCommit && strings.Trim(commit, "0123456789abcdef") == "" {
		return commit[:shortCommit]
	}
	return commit
}

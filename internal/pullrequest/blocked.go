package pullrequest

import (
	"context"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// BlockedBy returns why an open pull request that this program proposed cannot be merged for a user, as a sentence;
// empty if it can be. The rules are those of automatic merges: to override them, users merge it on the forge.
func BlockedBy(ctx context.Context, on forge.Repository, p *forge.PullRequest) (string, error) {
	switch mark := MarkOf(p.Body); {
	case p.State != forge.Open:
		return "It is already " + string(p.State) + ".", nil
	case p.Head.Fork != "" || mark.Commit != p.Head.Commit:
		return "It differs from what Kalypso proposed: commits were pushed to its branch.", nil
	case p.Draft:
		return "It is a draft.", nil
	case p.Mergeable == forge.MergeableNo:
		return "It conflicts with its base branch.", nil
	}
	status, err := Unfinished(ctx, on, p.Head.Commit)
	if status == nil || err != nil {
		return "", err
	}
	blocked := fmt.Sprintf("The status %s is %s", status.Context, status.State)
	if about := strings.TrimSuffix(secret.Line(status.Description), "."); about != "" {
		first, size := utf8.DecodeRuneInString(about)
		blocked += ": " + string(unicode.ToUpper(first)) + about[size:]
	}
	return blocked + ".", nil
}

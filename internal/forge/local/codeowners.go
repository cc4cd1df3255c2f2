package local

import (
	"errors"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/gitignore"
	"github.com/go-git/go-git/v5/plumbing/object"
)

// ownerRules are the lines of a CODEOWNERS file: a pattern as in .gitignore, then accounts, with or without an "@".
// The last line that matches a file applies. A line without accounts means that no approval is required.
type ownerRules []ownerRule

type ownerRule struct {
	pattern  gitignore.Pattern
	accounts []string
}

// codeOwners reads the code owners at a commit. A commit without the file has none.
func codeOwners(objects bare, commit plumbing.Hash) (ownerRules, error) {
	tree, err := treeOf(objects, commit)
	if err != nil {
		return nil, err
	}
	file, err := tree.File((&Repository{}).CodeOwnersPath())
	if errors.Is(err, object.ErrFileNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	text, err := file.Contents()
	return parseCodeOwners(text), err
}

func parseCodeOwners(text string) ownerRules {
	var rules ownerRules
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "#")
		fields := strings.Fields(line)
		if len(fields) == 0 {
			continue
		}
		rule := ownerRule{pattern: gitignore.ParsePattern(fields[0], nil)}
		for _, account := range fields[1:] {
			rule.accounts = append(rule.accounts, strings.TrimPrefix(account, "@"))
		}
		rules = append(rules, rule)
	}
	return rules
}

// of returns the owners of a file.
func (rules ownerRules) of(file string) []string {
	segments := strings.Split(file, "/")
	for _, rule := range slices.Backward(rules) {
		if rule.pattern.Match(segments, false) == gitignore.Exclude {
			return rule.accounts
		}
	}
	return nil
}

package web

import (
	"regexp"
	"strings"
)

// briefs has short words for what tools say at length. The first that matches counts.
var briefs = []struct {
	message *regexp.Regexp
	brief   string
}{
	{regexp.MustCompile(`admission webhook "?([\w.-]+)"? denied the request`), "$1 denied the request"},
	{regexp.MustCompile(`ImagePullBackOff|ErrImagePull|(?i)manifest unknown|image [^ ]+ not found`), "image not found"},
	{regexp.MustCompile(`CrashLoopBackOff`), "a container crashes"},
	{regexp.MustCompile(`OOMKilled`), "out of memory"},
	{regexp.MustCompile(`CreateContainerConfigError`), "configuration is missing"},
	{regexp.MustCompile(`(?i)no such host|connection refused|i/o timeout|network is unreachable`), "a server cannot be reached"},
	{regexp.MustCompile(`(?i)authentication (required|failed)|unauthorized|permission denied|\b40[13]\b`), "access denied"},
	{regexp.MustCompile(`(?i)progress deadline|timeout waiting|context deadline exceeded|timed out`), "timed out"},
	{regexp.MustCompile(`(?i)path not found|no such file`), "a path does not exist"},
	{regexp.MustCompile(`(?i)is forbidden: exceeded quota`), "quota exceeded"},
	{regexp.MustCompile(`(?i)health check failed`), "health check failed"},
	{regexp.MustCompile(`(?i)(kustomize|helm|manifest)[a-z ]* (build|render|generation) failed|error building`), "manifests cannot be built"},
}

// leadingHash matches the commit that a reason begins with: it is beside it.
var leadingHash = regexp.MustCompile(`^[0-9a-f]{7,40} `)

// maxBrief is how long a brief reason is, in characters.
const maxBrief = 64

// brief says a reason in a few words. The whole reason is on the page that it leads to.
func brief(reason string) string {
	text := leadingHash.ReplaceAllString(line(reasonOf(reason).Text), "")
	for _, b := range briefs {
		if found := b.message.FindStringSubmatchIndex(text); found != nil {
			return string(b.message.ExpandString(nil, b.brief, text, found))
		}
	}
	first, _, _ := strings.Cut(text, "; ")
	return truncate(reasonOf(first).Text, maxBrief)
}

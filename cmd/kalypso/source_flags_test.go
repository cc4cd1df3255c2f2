package main

import (
	"testing"

	"github.com/kalypso-io/kalypso/internal/git"
)

func TestSourceFlagsCanBeCopied(t *testing.T) {
	for want, flags := range map[string]sourceFlags{
		"-e dev":                            {environment: "dev"},
		"-e dev --control-plane '../my cp'": {environment: "dev", controlPlane: "../my cp"},
		"-e dev --control-plane https://example.com/cp": {environment: "dev", controlPlane: "https://ann:s3cr3t@example.com/cp"},
		"-e dev --map https://example.com/a=/a --map 'https://example.com/b=it'\\''s' --main main --env-dir 'x;y'": {
			environment: "dev", main: "main", envDir: "x;y",
			maps: []git.Mapping{{From: "https://example.com/a", To: "/a"}, {From: "https://me@example.com/b", To: "it's"}},
		},
	} {
		if got := flags.args(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

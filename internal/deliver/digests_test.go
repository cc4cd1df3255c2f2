package deliver_test

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/kalypso-io/kalypso/internal/chart/charttest"
	"github.com/kalypso-io/kalypso/internal/deliver"
)

// knownImages are digests by reference. Others are not known.
type knownImages map[string]string

// Digests implements [deliver.Images].
func (k knownImages) Digests(_ context.Context, references []string) map[string]deliver.ImageDigest {
	found := map[string]deliver.ImageDigest{}
	for _, reference := range references {
		if found[reference] = (deliver.ImageDigest{Digest: k[reference]}); k[reference] == "" {
			found[reference] = deliver.ImageDigest{Reason: "the registry <b>does not answer</b>"}
		}
	}
	return found
}

// The pull request names the digest of each image that changes, or says why it is not known. The manifests do not depend on them.
func TestPullRequestNamesDigests(t *testing.T) {
	r := shopOf("manifests")
	digest := "sha256:" + strings.Repeat("cd", 32)
	draft := func(images deliver.Images) *deliver.Draft {
		d := &deliver.Drafter{Renderer: charttest.InProcess{}, Images: images, Loader: &deliver.Loader{Repositories: r, Charts: localCharts{}}}
		draft, err := d.Draft(t.Context(), deliver.DraftRequest{Request: deliver.Request{Source: "https://git.example/shop"}, Environment: "dev"})
		if err != nil {
			t.Fatal(err)
		}
		return draft
	}
	with, without := draft(knownImages{"git.example/shop:3": digest}), draft(nil)
	text := with.Markdown(deliver.MarkdownOptions{})
	for _, want := range []string{"| `git.example/shop:3` | `" + digest + "` |", "| `proxy:1` | not known: the registry "} {
		if !strings.Contains(text, want) {
			t.Errorf("want %q, got\n%s", want, text)
		}
	}
	if strings.Contains(text, "<b>") {
		t.Errorf("a reason is not escaped:\n%s", text)
	}
	for i, c := range without.Changes() {
		if !bytes.Equal(c.Content, with.Changes()[i].Content) {
			t.Errorf("%s depends on a registry", c.Path)
		}
	}
	r.publish(with)
	if again := draft(knownImages{}); len(again.Plan.Digests) > 0 {
		t.Errorf("nothing changes, and %v are looked up", again.Plan.Digests)
	}
}

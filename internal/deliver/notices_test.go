package deliver_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/kalypso-io/kalypso/internal/chart"
	"github.com/kalypso-io/kalypso/internal/chart/charttest"
	"github.com/kalypso-io/kalypso/internal/deliver"
)

// talkative are charts with notices.
type talkative struct {
	localCharts
	notices []string
}

func (c talkative) Local(ctx context.Context, files []chart.File, folder string) (*deliver.Chart, error) {
	found, err := c.localCharts.Local(ctx, files, folder)
	found.Notices = c.notices
	return found, err
}

// TestTheTextOfAChangeHasNotices checks that a notice is written once, is escaped, and leaves room for the rest.
func TestTheTextOfAChangeHasNotices(t *testing.T) {
	text := func(notices ...string) string {
		t.Helper()
		d := &deliver.Drafter{Renderer: charttest.InProcess{}, Loader: &deliver.Loader{Repositories: shop(1), Charts: talkative{notices: notices}}}
		draft, err := d.Draft(t.Context(), deliver.DraftRequest{Request: deliver.Request{Source: "https://git.example/shop"}, Environment: "dev"})
		if err != nil {
			t.Fatal(err)
		}
		return draft.Markdown(deliver.MarkdownOptions{})
	}
	const stale = "charts.example does not answer (read tcp 10.0.0.7:%d->10.0.0.1:443: i/o timeout); version 1.2.3 of \"shop\" is used"
	got := text(fmt.Sprintf(stale, 40001), fmt.Sprintf(stale, 40002), "@everyone: [click](https://evil.example) <img>\n# big")
	for _, want := range []string{"\n#### Notices\n\n", "i/o timeout); version 1.2.3 of \"shop\" is used\n", "- @&#8203;everyone: \\[click\\](https:&#8203;//evil.example) &lt;img&gt; #&#8203; big\n"} {
		if strings.Count(got, want) != 1 {
			t.Errorf("want %q once in\n%s", want, got)
		}
	}
	if strings.Contains(got, "4000") || got != text(fmt.Sprintf(stale, 50001), "@everyone: [click](https://evil.example) <img>\n# big") {
		t.Errorf("the text changes whenever the repository is asked:\n%s", got)
	}
	var many []string
	for i := range 50 {
		many = append(many, fmt.Sprint(i, strings.Repeat(" é", 1000)))
	}
	if got := text(many...); strings.Count(got, "…\n") != 20 || !strings.Contains(got, "- and more\n") || len(got) > 20*700+5000 {
		t.Errorf("got %d bytes:\n%s", len(got), got)
	}
	if got := text(); strings.Contains(got, "Notices") {
		t.Errorf("there are none:\n%s", got)
	}
}

package observing_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/observing"
)

func TestTag(t *testing.T) {
	one := observing.Page[observing.Environment]{Items: []observing.Environment{{Name: "dev"}}}
	two := observing.Page[observing.Environment]{Items: []observing.Environment{{Name: "dev", Held: 1}}}
	if observing.Tag(one) != observing.Tag(one) || observing.Tag(one) == observing.Tag(two) {
		t.Errorf("tags %q and %q", observing.Tag(one), observing.Tag(two))
	}
	if tag := observing.Tag(func() {}); tag != "" {
		t.Errorf("tag of what is no JSON: %q", tag)
	}
}

// TestUnknownNames: hostile names are shown in one line, and only so much of them.
func TestUnknownNames(t *testing.T) {
	w := newWorld(t)
	w.fact("10:00 register large-01 prod/large")
	o := &observing.Observer{Ledger: w.Ledger}
	for _, name := range []string{"a\nb\x1b[31m", strings.Repeat("x", 1<<20), "\x00\xff"} {
		_, err := o.Cluster(t.Context(), observing.ClusterQuery{Name: name})
		if !errors.Is(err, ledger.ErrNotFound) {
			t.Errorf("%.20q: %v", name, err)
			continue
		}
		if text := err.Error(); len(text) > 300 || strings.ContainsAny(text, "\n\x1b\x00") {
			t.Errorf("%.20q: %.400q", name, text)
		}
	}
}

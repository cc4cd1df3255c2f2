package engine

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kalypso-io/kalypso/internal/chart/values"
)

func TestParseSet(t *testing.T) {
	for _, tc := range []struct {
		text string
		want map[string]any
		err  string
	}{
		{text: "a.b=1,c=true", want: map[string]any{"a": map[string]any{"b": int64(1)}, "c": true}},
		{text: "a={x,y}", want: map[string]any{"a": []any{"x", "y"}}},
		{text: "a=null", want: map[string]any{"a": nil}},
		{text: `a\.b=x\,y`, want: map[string]any{"a.b": "x,y"}},
		{text: "a[0]=x", err: "addresses an element of a list"},
		{text: "a", err: "write key=value"},
		{text: strings.Repeat("a", values.MaxSize+1), err: "more than"},
	} {
		l, err := parseSet("--set", tc.text)
		if tc.err != "" {
			if err == nil || !strings.Contains(err.Error(), tc.err) {
				t.Errorf("%.20s: got %v, want an error with %q", tc.text, err, tc.err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", tc.text, err)
			continue
		}
		if diff := cmp.Diff(tc.want, values.Compose([]*values.Layer{l}, nil).Data); diff != "" {
			t.Errorf("%s: %s", tc.text, diff)
		}
	}
	l, err := parseSetString("--set-string", "a=1")
	if err != nil || values.Compose([]*values.Layer{l}, nil).Data["a"] != "1" {
		t.Errorf("a text is not kept: %v", err)
	}
}

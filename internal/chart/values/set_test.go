package values_test

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
		l, err := values.ParseSet("--set", tc.text)
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
	l, err := values.ParseSetString("--set-string", "a=1")
	if err != nil || values.Compose([]*values.Layer{l}, nil).Data["a"] != "1" {
		t.Errorf("a text is not kept: %v", err)
	}
}

func TestSet(t *testing.T) {
	for _, tc := range []struct {
		texts map[string]string
		err   string
	}{
		{texts: map[string]string{"image.tag": "1", "image": "x"}, err: `"image" is already set`},
		{texts: map[string]string{"a..b": "1"}, err: "a key of the path is empty"},
		{texts: map[string]string{"": "1"}, err: "a key of the path is empty"},
	} {
		if _, err := values.Set("the build", tc.texts); err == nil || !strings.Contains(err.Error(), tc.err) {
			t.Errorf("%v: got %v, want an error with %q", tc.texts, err, tc.err)
		}
	}
}

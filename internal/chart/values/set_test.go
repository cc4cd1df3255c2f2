package values_test

import (
	"strings"
	"testing"

	"github.com/kalypso-io/kalypso/internal/chart/values"
)

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

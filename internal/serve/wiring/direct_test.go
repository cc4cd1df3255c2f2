package wiring

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/kalypso-io/kalypso/internal/ledger/open"
)

// Servers with one ledger sign with one key: the first one's.
func TestAServerWithAnotherDeliveryKeyIsRefused(t *testing.T) {
	t.Parallel()
	l, err := open.Ledger(t.Context(), filepath.Join(t.TempDir(), "ledger.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for n, test := range []struct{ folder, want string }{
		{"one", ""}, {"two", "set deliveryKeyFile to the same file on all servers"}, {"one", ""},
	} {
		key, err := deliveryKey("", filepath.Join(filepath.Dir(t.TempDir()), test.folder+".key"))
		if err != nil {
			t.Fatal(err)
		}
		got, err := otherDeliveryKey(t.Context(), l, key)
		if err != nil || (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
			t.Errorf("start %d: got %q, %v, want %q", n, got, err, test.want)
		}
	}
}

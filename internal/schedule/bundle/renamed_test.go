package bundle

import (
	"errors"
	"strings"
	"testing"

	"github.com/kalypso-io/kalypso/internal/fleet"
)

// TestAnUnreadableConfigurationHolds checks that a configuration is not replaced while it is not known which keys
// it would lose. The next build tries again, and a user can approve it.
func TestAnUnreadableConfigurationHolds(t *testing.T) {
	const at = "large/web/" + configYAMLName
	was, is := NewFile(at, []byte("data:\n  REGION: west\n")), NewFile(at, []byte("data:\n  REGON: west\n"))
	read := func(content []byte, err error) func(string) ([]byte, error) {
		return func(string) ([]byte, error) { return content, err }
	}
	for name, tc := range map[string]struct {
		read     func(string) ([]byte, error)
		approved bool
		want     string
		unread   bool
	}{
		"it cannot be read":           {read: read(nil, errors.New("disk is gone")), want: "its published configuration cannot be read", unread: true},
		"it cannot be read, approved": {read: read(nil, errors.New("disk is gone")), approved: true},
		"a key is renamed, approved":  {read: read(was.Content(), nil), approved: true},
		"it had the key":              {read: read(is.Content(), nil)},
	} {
		t.Run(name, func(t *testing.T) {
			published := &Published{branch: Branch{Read: tc.read}}
			f := &folderBuild{builder: &builder{published: published, mistyped: &mistyped{}, options: Options{Approved: tc.approved}}}
			s := &step{
				published:  &Assignment{ClusterType: "large", Target: "web", Files: []File{{Path: at, Hash: was.Hash}}},
				assignment: Assignment{ClusterType: "large", Target: "web", Files: []File{is}},
			}
			p := f.renamedKeys(s)
			if p == nil {
				p = &fleet.Problem{}
			}
			if !strings.HasPrefix(p.Message, tc.want) || (p.Message == "") != (tc.want == "") || s.unread != tc.unread {
				t.Errorf("it is held because %q (unread: %v), want %q", p.Message, s.unread, tc.want)
			}
		})
	}
}

package mergetree

import (
	"io"
	"strings"

	"github.com/aymanbagabas/go-udiff"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"
)

// largestText is the size up to which files are merged line by line; comparing larger ones takes too long.
const largestText = 4 << 20

// text reads a file that can be merged line by line. What is too large or no text is not.
func (m *merger) text(hash plumbing.Hash) (string, bool, error) {
	blob, err := object.GetBlob(m.storage, hash)
	if err != nil || blob.Size > largestText {
		return "", false, err
	}
	r, err := blob.Reader()
	if err != nil {
		return "", false, err
	}
	defer r.Close() //nolint:errcheck // only read
	content, err := io.ReadAll(r)
	return string(content), err == nil && !strings.Contains(string(content), "\x00"), err
}

// mergeLines applies what both sides changed. It is not ok when changes overlap or touch without being the same.
func mergeLines(base, ours, theirs string) (merged string, ok bool) {
	a, b := udiff.Lines(base, ours), udiff.Lines(base, theirs)
	edits := make([]udiff.Edit, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		switch {
		case a[0] == b[0]:
			edits, a, b = append(edits, a[0]), a[1:], b[1:]
		case a[0].End < b[0].Start:
			edits, a = append(edits, a[0]), a[1:]
		case b[0].End < a[0].Start:
			edits, b = append(edits, b[0]), b[1:]
		default:
			return "", false
		}
	}
	edits = append(append(edits, a...), b...)
	merged, err := udiff.Apply(base, edits)
	return merged, err == nil
}

func (m *merger) storeBlob(content string) (plumbing.Hash, error) {
	o := m.storage.NewEncodedObject()
	o.SetType(plumbing.BlobObject)
	w, err := o.Writer()
	if err != nil {
		return plumbing.ZeroHash, err
	}
	if _, err := io.WriteString(w, content); err != nil {
		return plumbing.ZeroHash, err
	}
	if err := w.Close(); err != nil {
		return plumbing.ZeroHash, err
	}
	return m.storage.SetEncodedObject(o)
}

func (m *merger) store(t *object.Tree) (plumbing.Hash, error) {
	o := m.storage.NewEncodedObject()
	if err := t.Encode(o); err != nil {
		return plumbing.ZeroHash, err
	}
	return m.storage.SetEncodedObject(o)
}

package outbound

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/url"
	"slices"
	"strconv"

	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// mask replaces each byte of a secret by a star, so that a text keeps its length.
type mask struct {
	spellings [][]byte // the longest first
}

func newMask(least int, secrets []secret.Value) *mask {
	m := &mask{}
	for _, v := range secrets {
		text := v.Reveal()
		if len(text) < least {
			continue
		}
		plain := strconv.Quote(text)
		for _, spelling := range []string{text, url.QueryEscape(text), url.PathEscape(text), quoted(text), plain[1 : len(plain)-1]} {
			if !slices.ContainsFunc(m.spellings, func(s []byte) bool { return string(s) == spelling }) {
				m.spellings = append(m.spellings, []byte(spelling))
			}
		}
	}
	slices.SortStableFunc(m.spellings, func(a, b []byte) int { return len(b) - len(a) })
	return m
}

// quoted returns a text as it is in a JSON string.
func quoted(text string) string {
	in, err := json.Marshal(text)
	if err != nil {
		return text
	}
	return string(in[1 : len(in)-1])
}

// text returns a text without the secrets.
func (m *mask) text(text string) string {
	content := []byte(text)
	m.apply(content)
	return string(content)
}

// apply replaces the secrets in place.
func (m *mask) apply(content []byte) {
	for _, spelling := range m.spellings {
		for at := 0; ; {
			i := bytes.Index(content[at:], spelling)
			if i < 0 {
				break
			}
			at += i
			for range spelling {
				content[at] = '*'
				at++
			}
		}
	}
}

// begun returns how many bytes at the end of a content may be the beginning of a secret.
func (m *mask) begun(content []byte) int {
	most := 0
	for _, spelling := range m.spellings {
		for n := min(len(spelling)-1, len(content)); n > most; n-- {
			if bytes.HasSuffix(content, spelling[:n]) {
				most = n
				break
			}
		}
	}
	return most
}

// reader returns a body without the secrets. It holds back only what may be the beginning of one, so that events arrive when they are sent.
func (m *mask) reader(body io.ReadCloser) io.ReadCloser {
	if len(m.spellings) == 0 {
		return body
	}
	return &maskedBody{ReadCloser: body, mask: m}
}

// maskedBody is a body whose secrets are hidden.
type maskedBody struct {
	io.ReadCloser
	*mask
	space              []byte
	start, ready, last int   // space[start:ready] can be given, and space[ready:last] may be the beginning of a secret
	err                error // what follows
}

// chunk is how much is read at once, at least.
const chunk = 32 << 10

// Read implements [io.Reader].
func (b *maskedBody) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	for b.start == b.ready {
		if b.err != nil {
			return 0, b.err
		}
		b.fill()
	}
	n := copy(p, b.space[b.start:b.ready])
	b.start += n
	return n, nil
}

// fill reads more, and hides the secrets in it.
func (b *maskedBody) fill() {
	if b.space == nil {
		b.space = make([]byte, chunk+len(b.spellings[0]))
	}
	held := copy(b.space, b.space[b.ready:b.last])
	n, err := b.ReadCloser.Read(b.space[held:])
	b.start, b.last, b.err = 0, held+n, err
	b.apply(b.space[:b.last])
	b.ready = b.last
	if !errors.Is(err, io.EOF) { // after another error, half of a secret is not shown either
		b.ready -= b.begun(b.space[:b.last])
	}
}

package bundle

import (
	"bytes"
	"compress/flate"
	"io"
	"sync"
	"weak"
)

// text is the content of one or more files. A bundle of a million assignments has gigabytes of text, of which most is never read
// again: it is kept compressed, or made again from what the bundle holds anyway. It is safe for concurrent use.
type text struct {
	// plain is the content; nil if again returns it.
	plain []byte
	again func() []byte

	mu sync.Mutex
	// last is what again returned last, for callers that read the files one after the other.
	last weak.Pointer[[]byte]
}

// read returns the whole content, which must not be changed.
func (t *text) read() []byte {
	if t.again == nil {
		return t.plain
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if known := t.last.Value(); known != nil {
		return *known
	}
	content := t.again()
	t.last = weak.Make(&content)
	return content
}

// extract is a part of a text. The zero value has no content.
type extract struct {
	text     *text
	from, to int
}

// packer compresses the files of several assignments together, because they are similar. It is not safe for concurrent use.
type packer struct {
	open   *text
	usual  int // size of the last text
	writer *flate.Writer
	packed bytes.Buffer
}

// add returns a file with a copy of the content.
func (p *packer) add(path string, content []byte) File {
	if p.open == nil {
		p.open = &text{plain: make([]byte, 0, p.usual+p.usual/8)}
	}
	from := len(p.open.plain)
	p.open.plain = append(p.open.plain, content...)
	return File{Path: path, Hash: HashOf(content), content: extract{p.open, from, len(p.open.plain)}}
}

// pack compresses what was added since the last call. Nothing else must read it meanwhile. Errors cannot happen in memory.
func (p *packer) pack() {
	if p.open == nil {
		return
	}
	p.packed.Reset()
	if p.writer == nil {
		p.writer, _ = flate.NewWriter(&p.packed, flate.BestSpeed)
	}
	p.writer.Reset(&p.packed)
	_, _ = p.writer.Write(p.open.plain)
	_ = p.writer.Close()
	packed, size := bytes.Clone(p.packed.Bytes()), len(p.open.plain)
	p.usual = size
	p.open.plain, p.open.again = nil, func() []byte {
		content := make([]byte, size)
		_, _ = io.ReadFull(flate.NewReader(bytes.NewReader(packed)), content)
		return content
	}
	p.open = nil
}

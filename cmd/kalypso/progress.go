package main

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// progressDelay is how long a command may be silent. What takes less needs no comment.
const progressDelay = time.Second

// progress is the one line that says what is going on while it takes long. It is gone when the result is shown.
// A nil progress is silent: nobody watches.
type progress struct {
	w     io.Writer
	style style
	timer *time.Timer

	mu    sync.Mutex
	text  string
	shown bool
	ended bool
}

// startProgress starts a line that appears after a second, if w is a terminal; elsewhere it returns nil. The caller ends it.
func startProgress(w io.Writer, s style) *progress {
	if !isTerminal(w) {
		return nil
	}
	return newProgress(w, s)
}

func newProgress(w io.Writer, s style) *progress {
	p := &progress{w: w, style: s}
	p.timer = time.AfterFunc(progressDelay, p.show)
	return p
}

// say replaces the text.
func (p *progress) say(format string, args ...any) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.text = fmt.Sprintf(format, args...)
	if p.shown {
		p.draw()
	}
}

// end removes the line. Nothing is drawn afterwards; ending twice is fine.
func (p *progress) end() {
	if p == nil {
		return
	}
	p.timer.Stop()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.shown && !p.ended {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
	p.shown, p.ended = false, true
}

func (p *progress) show() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.ended {
		p.shown = true
		p.draw()
	}
}

// draw overwrites the line. One that wrapped could not be overwritten, so it is cut.
func (p *progress) draw() {
	fmt.Fprint(p.w, "\r\x1b[K", p.style.dim(cutToWidth(printable(p.text), columns(p.w)-1)))
}

// cutToWidth returns the part of s that fits into n columns.
func cutToWidth(s string, n int) string {
	used := 0
	for i, r := range s {
		if used += displayWidth(string(r)); used > n {
			return s[:i]
		}
	}
	return s
}

package terminal

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// progressDelay is how long a command runs before it shows progress.
const progressDelay = time.Second

// Progress is a line that shows what a command is doing. It is removed before the result is printed. Nil shows nothing.
type Progress struct {
	w     io.Writer
	style Style
	timer *time.Timer

	mu    sync.Mutex
	text  string
	shown bool
	ended bool
}

// startProgress returns nil if w is not a terminal.
func startProgress(w io.Writer, s Style) *Progress {
	if !IsTerminal(w) {
		return nil
	}
	return newProgress(w, s)
}

func newProgress(w io.Writer, s Style) *Progress {
	p := &Progress{w: w, style: s}
	p.timer = time.AfterFunc(progressDelay, p.show)
	return p
}

// Say replaces the text.
func (p *Progress) Say(format string, args ...any) {
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

// End removes the line. It can be called more than once.
func (p *Progress) End() {
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

func (p *Progress) show() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.ended {
		p.shown = true
		p.draw()
	}
}

// draw overwrites the line. It cuts the text, because a wrapped line could not be overwritten.
func (p *Progress) draw() {
	fmt.Fprint(p.w, "\r\x1b[K", p.style.Dim(cutToWidth(Printable(p.text), columns(p.w)-1)))
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

package tree

import (
	"slices"
	"strings"
	"time"
)

// Request says who asked for the pin of a target, or for its end. The zero value says nothing.
type Request struct {
	// By is the name of who asked, as they gave it, and At the time.
	By string    `json:"by,omitempty"`
	At time.Time `json:"at,omitzero"`
	// Instead are the requests that it replaced before they were merged, the newest first, at most 10.
	Instead []Replaced `json:"instead,omitempty"`
}

// Replaced is a request that was not merged: another one for the same target took its place.
type Replaced struct {
	Pin
	By string    `json:"by,omitempty"`
	At time.Time `json:"at,omitzero"`
}

const (
	// maxBy limits a name, in bytes.
	maxBy = 200
	// maxInstead is how many replaced requests are kept.
	maxInstead = 10
)

// Over returns a request that replaces another one for the same target, which asked for a pin.
func (r Request) Over(other Request, pin Pin) Request {
	r.Instead = append([]Replaced{{pin, other.By, other.At}}, other.Instead...)
	return r.bounded()
}

// Same reports whether two requests are the same.
func (r Request) Same(other Request) bool {
	return r.By == other.By && r.At.Equal(other.At) && slices.EqualFunc(r.Instead, other.Instead, func(x, y Replaced) bool {
		return x.Pin == y.Pin && x.By == y.By && x.At.Equal(y.At)
	})
}

// bounded limits a request that anyone may have written.
func (r Request) bounded() Request {
	r.By, r.Instead = name(r.By), slices.Clone(r.Instead[:min(len(r.Instead), maxInstead)])
	r.Instead = slices.DeleteFunc(r.Instead, func(was Replaced) bool { return !was.Pin.IsZero() && was.Pin.Check() != nil })
	for i := range r.Instead {
		r.Instead[i].By = name(r.Instead[i].By)
	}
	return r
}

// name returns a name in one line.
func name(text string) string {
	return strings.ToValidUTF8(strings.Join(strings.Fields(text[:min(len(text), maxBy)]), " "), "")
}

// Requests returns who asked for the pins of the published targets, or for their end, by target.
func (p *Published) Requests() map[string]Request {
	requests := map[string]Request{}
	if p != nil {
		for _, t := range p.Targets {
			requests[t.Name] = t.Request
		}
	}
	return requests
}

// request returns the request that is recorded for a target; nil for none. A target that is held keeps its own.
func (t *Tree) request(e Entry) *Request {
	p, _ := t.published.target(e.Name)
	r := p.Request
	if wanted, ok := t.wanted.Requests[e.Name]; ok && e.Held == nil {
		r = wanted
	}
	if r.Same(Request{}) {
		return nil
	}
	return &r
}

package main

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestProgressIsSilentForASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b strings.Builder
		p := newProgress(&b, style{})
		p.say("reading dev")
		time.Sleep(progressDelay - 1)
		synctest.Wait()
		p.end()
		time.Sleep(time.Hour)
		synctest.Wait()
		if b.String() != "" {
			t.Errorf("got %q, want nothing", b.String())
		}
	})
}

func TestProgressShowsTheLatestTextAndGoesAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b strings.Builder
		p := newProgress(&b, style{})
		p.say("reading dev")
		p.say("reading %s", "main")
		time.Sleep(progressDelay)
		synctest.Wait()
		p.say("rendering\x1b %s", strings.Repeat("x", 100))
		p.end()
		p.end()
		p.say("too late")
		want := "\r\x1b[Kreading main" +
			"\r\x1b[Krendering\\x1b " + strings.Repeat("x", 79-len("rendering.x1b ")) +
			"\r\x1b[K"
		if b.String() != want {
			t.Errorf("got  %q\nwant %q", b.String(), want)
		}
	})
}

func TestProgressThatNobodyWatches(t *testing.T) {
	var b strings.Builder
	p := newTerminal(nil, strings.NewReader(""), &b, &b).progress()
	p.say("reading")
	p.end()
	if p != nil || b.String() != "" {
		t.Errorf("got %v and %q, want nothing", p, b.String())
	}
}

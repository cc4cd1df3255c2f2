package terminal

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestProgressIsSilentForASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b strings.Builder
		p := newProgress(&b, Style{})
		p.Say("reading dev")
		time.Sleep(progressDelay - 1)
		synctest.Wait()
		p.End()
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
		p := newProgress(&b, Style{})
		p.Say("reading dev")
		p.Say("reading %s", "main")
		time.Sleep(progressDelay)
		synctest.Wait()
		p.Say("rendering\x1b %s", strings.Repeat("x", 100))
		p.End()
		p.End()
		p.Say("too late")
		want := "\r\x1b[Kreading main" +
			"\r\x1b[Krendering\\x1b " + strings.Repeat("x", 79-len("rendering.x1b ")) +
			"\r\x1b[K"
		if b.String() != want {
			t.Errorf("got  %q\nwant %q", b.String(), want)
		}
	})
}

func TestProgressWithoutTerminal(t *testing.T) {
	var b strings.Builder
	p := New(nil, strings.NewReader(""), &b, &b).Progress()
	p.Say("reading")
	p.End()
	if p != nil || b.String() != "" {
		t.Errorf("got %v and %q, want nothing", p, b.String())
	}
}

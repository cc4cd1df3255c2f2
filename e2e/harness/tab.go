package harness

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
)

// View is how a user looks at pages.
type View struct {
	Name          string // required
	Width, Height int64  // required; in CSS pixels
	Dark, Phone   bool
}

// Tab is a page that is open, with cookies of its own.
type Tab struct {
	ctx   context.Context //nolint:containedctx // chromedp keeps its connection in one
	close context.CancelFunc

	mu sync.Mutex
	// complaints are what the page wrote to the console as errors and warnings, and what it threw.
	complaints []string
}

// patience is how long a page may take to do something.
const patience = 60 * time.Second

// Open opens a tab of another user: it shares nothing with the others.
func (b *Browser) Open(v View) (*Tab, error) {
	ctx, end := chromedp.NewContext(b.ctx, chromedp.WithNewBrowserContext())
	t := &Tab{ctx: ctx, close: end}
	if err := t.prepare(v); err != nil {
		end()
		return nil, fmt.Errorf("open a tab: %w", err)
	}
	return t, nil
}

func (t *Tab) prepare(v View) error {
	if err := chromedp.Do(t.ctx); err != nil { // without a limit: the tab lasts as long as the context that makes it
		return err
	}
	heard := chromedp.Console(t.ctx)
	go func() {
		for message, err := range heard {
			if err != nil {
				return
			}
			t.hear(message)
		}
	}()
	scheme := "light"
	if v.Dark {
		scheme = "dark"
	}
	media := emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
		{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: "reduce"},
	}}
	if _, err := chromedp.Call(t.ctx, emulation.SetEmulatedMedia, media); err != nil {
		return err
	}
	size := []chromedp.EmulateViewportOption{chromedp.EmulateScale(1)}
	if v.Phone {
		size = append(size, chromedp.EmulateMobile, chromedp.EmulateTouch)
	}
	return t.Do(chromedp.EmulateViewport(v.Width, v.Height, size...))
}

// WithoutScripts lets the scripts of pages not run any more. [Eval] goes on to work.
func (t *Tab) WithoutScripts() error {
	_, err := chromedp.Call(t.ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
	return err
}

// Close closes the tab.
func (t *Tab) Close() { t.close() }

func (t *Tab) hear(m chromedp.ConsoleMessage) {
	if m.Type != chromedp.ConsoleError && m.Type != chromedp.ConsoleWarning && !m.IsException() {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.complaints = append(t.complaints, strings.TrimSpace(m.Text+" "+m.URL))
}

// Complaints returns what was complained of since the last call.
func (t *Tab) Complaints() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := t.complaints
	t.complaints = nil
	return all
}

// Do does something in the tab, within a minute.
func (t *Tab) Do(steps ...chromedp.Action[chromedp.Void]) error {
	ctx, cancel := context.WithTimeout(t.ctx, patience)
	defer cancel()
	return chromedp.Do(ctx, steps...)
}

// Visit goes to an address, and waits until the page is loaded.
func (t *Tab) Visit(address string) error {
	if err := t.Do(chromedp.Navigate(address)); err != nil {
		return fmt.Errorf("visit %s: %w", address, err)
	}
	return nil
}

// Eval evaluates a script in the page, whatever the policy of the page says.
func Eval[T any](t *Tab, script string) (T, error) {
	ctx, cancel := context.WithTimeout(t.ctx, patience)
	defer cancel()
	result, err := chromedp.Run(ctx, chromedp.Evaluate[T](script, chromedp.EvalAwaitPromise))
	if err != nil {
		err = fmt.Errorf("evaluate %.60q: %w", script, err)
	}
	return result, err
}

// Text returns what people read of the first element of a selector; empty where there is none.
func (t *Tab) Text(selector string) (string, error) {
	return Eval[string](t, fmt.Sprintf(`(document.querySelector(%q) || {innerText: ""}).innerText`, selector))
}

// Type types a text, or keys of package kb, to what has the focus.
func (t *Tab) Type(keys string) error { return t.Do(chromedp.KeyEvent(keys)) }

// Press presses a key that writes a character. What the page does with the key comes before the character, and may prevent it.
func (t *Tab) Press(character string) error {
	for _, event := range []input.DispatchKeyEventParams{
		{Type: input.DispatchKeyEventTypeKeyDown, Key: character, Text: character},
		{Type: input.DispatchKeyEventTypeKeyUp, Key: character},
	} {
		if _, err := chromedp.Call(t.ctx, input.DispatchKeyEvent, event); err != nil {
			return fmt.Errorf("press %q: %w", character, err)
		}
	}
	return nil
}

// Click clicks the first element of a selector, which has to be there, and waits for the page that it leads to.
func (t *Tab) Click(selector string) error {
	ctx, cancel := context.WithTimeout(t.ctx, patience)
	defer cancel()
	if _, err := chromedp.RunResponse(ctx, chromedp.Click(chromedp.CSS(selector))); err != nil {
		return fmt.Errorf("click %s: %w", selector, err)
	}
	return nil
}

// Shoot writes a picture of what is seen to a PNG file, whose folder it makes.
func (t *Tab) Shoot(file string) error {
	ctx, cancel := context.WithTimeout(t.ctx, patience)
	defer cancel()
	picture, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
	if err != nil {
		return fmt.Errorf("take a picture: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, picture, 0o644)
}

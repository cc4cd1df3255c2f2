package harness

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/remote"
)

// Browser is Chromium without a window. It keeps nothing, and connects only to the pages that it is shown.
type Browser struct {
	process *Process
	ctx     context.Context //nolint:containedctx // chromedp keeps its connection in one
	close   context.CancelFunc
}

// browserNames are what the program is called.
var browserNames = []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable"}

// FindBrowser returns the path of the system's browser.
func FindBrowser() (string, error) {
	for _, name := range browserNames {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("find a browser: there is none of %s; e2e/tools/packages installs one", strings.Join(browserNames, ", "))
}

// StartBrowser starts a browser with an empty profile.
func (l *Lab) StartBrowser(ctx context.Context) (*Browser, error) {
	path, err := FindBrowser()
	if err != nil {
		return nil, err
	}
	folder, err := l.Folder("chromium")
	if err != nil {
		return nil, err
	}
	profile, err := os.MkdirTemp(folder, "profile-")
	if err != nil {
		return nil, err
	}
	process, err := l.Start(Program{Name: "chromium", Path: path, Args: browserFlags(profile)})
	if err != nil {
		return nil, err
	}
	var address string
	err = process.WaitReady(ctx, func(context.Context) error {
		address, err = debuggerOf(profile)
		return err
	})
	if err != nil {
		return nil, err
	}
	// Tabs outlive the call that opens them.
	connected, drop := remote.NewAllocator(context.WithoutCancel(ctx), address, remote.NoModifyURL)
	first, end := chromedp.NewContext(connected)
	b := &Browser{process, first, func() { end(); drop() }}
	if err := chromedp.Do(first); err != nil {
		return nil, errors.Join(fmt.Errorf("reach the browser: %w", err), b.Stop(ctx))
	}
	return b, nil
}

func browserFlags(profile string) []string {
	flags := []string{
		"--headless=new", "--remote-debugging-port=0", "--user-data-dir=" + profile, "--disable-dev-shm-usage", "--disable-gpu",
		"--no-first-run", "--no-default-browser-check", "--disable-background-networking", "--disable-component-update", "--disable-sync",
		"--disable-default-apps", "--disable-extensions", "--disable-domain-reliability", "--disable-features=Translate,OptimizationHints,MediaRouter",
		"--disable-background-timer-throttling", "--disable-backgrounding-occluded-windows", "--disable-renderer-backgrounding",
		"--metrics-recording-only", "--no-pings", "--password-store=basic", "--mute-audio", "--hide-scrollbars", "--force-color-profile=srgb",
	}
	if os.Getuid() == 0 {
		flags = append(flags, "--no-sandbox") // it cannot drop what root may do
	}
	return append(flags, "about:blank")
}

// debuggerOf is where a browser listens, which it writes into its profile.
func debuggerOf(profile string) (string, error) {
	text, err := os.ReadFile(filepath.Join(profile, "DevToolsActivePort"))
	if err != nil {
		return "", err
	}
	port, path, ok := strings.Cut(strings.TrimSpace(string(text)), "\n")
	if !ok {
		return "", errors.New("it does not listen yet")
	}
	return "ws://127.0.0.1:" + port + path, nil
}

// Stop ends the browser.
func (b *Browser) Stop(context.Context) error {
	b.close()
	return b.process.kill()
}

// Lab is where the program runs.
func (k *Kalypso) Lab() *Lab { return k.lab }

// Command recording plays the guided tour of a sample in a browser, and writes what is seen to an animated GIF for the README.
//
//	go -C e2e run ./recording --kalypso ../bin/kalypso --out ../docs/images/tour.gif
//
// It needs a built kalypso and Chromium, and no other part of the tests.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"time"

	"github.com/kalypso-io/kalypso/e2e/harness"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	kalypso := flag.String("kalypso", "../bin/kalypso", "the `program` to record")
	out := flag.String("out", "../docs/images/tour.gif", "the `file` to write")
	flag.Parse()
	if err := run(ctx, *kalypso, *out); err != nil {
		fmt.Fprintln(os.Stderr, "recording:", err)
		os.Exit(1)
	}
}

// The size of the picture, and how large the file may be.
const (
	width, height = 960, 720
	maxBytes      = 2 << 20
)

func run(ctx context.Context, kalypso, out string) (err error) {
	if kalypso, err = filepath.Abs(kalypso); err != nil {
		return err
	}
	lab, err := harness.NewLab()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lab.Close(false)) }()
	address, err := startSample(ctx, lab, kalypso)
	if err != nil {
		return err
	}
	browser, err := lab.StartBrowser(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, browser.Stop(ctx)) }()
	tab, err := browser.Open(harness.View{Name: "recording", Width: width, Height: height})
	if err != nil {
		return err
	}
	defer tab.Close()
	r := &recorder{tab: tab, address: address, picture: filepath.Join(lab.Dir(), "frame.png")}
	if err := r.signIn(filepath.Join(lab.Dir(), sampleName, "kalypso-sample", "data", "admin-token")); err != nil {
		return err
	}
	if err := r.play(ctx); err != nil {
		return err
	}
	content, err := encode(r.frames)
	if err != nil {
		return err
	}
	if len(content) > maxBytes {
		return fmt.Errorf("%d frames have %d bytes, and %d are allowed", len(r.frames), len(content), maxBytes)
	}
	fmt.Printf("%s: %d frames, %d bytes\n", out, len(r.frames), len(content))
	return os.WriteFile(out, content, 0o644)
}

const sampleName = "sample"

// startSample starts a sample at a free address, and returns its URL.
func startSample(ctx context.Context, lab *harness.Lab, kalypso string) (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	listen := listener.Addr().String()
	if err := listener.Close(); err != nil {
		return "", err
	}
	process, err := lab.Start(harness.Program{Name: sampleName, Path: kalypso, Args: []string{"sample", "up", "--listen", listen, "--poll", "500ms", "--delay", "1500ms"}})
	if err != nil {
		return "", err
	}
	address := "http://" + listen
	return address, process.WaitReady(ctx, func(ctx context.Context) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, address+"/readyz", http.NoBody)
		if err != nil {
			return err
		}
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			return err
		}
		defer answer.Body.Close()
		log, err := process.Log()
		if err != nil || answer.StatusCode != http.StatusOK || !strings.Contains(log, "guided tour") {
			return errors.Join(err, fmt.Errorf("it answers %s", answer.Status))
		}
		return nil
	})
}

// recorder plays the tour.
type recorder struct {
	tab              *harness.Tab
	address, picture string
	frames           []frame
	// last is what the last frame shows.
	last string
}

func (r *recorder) signIn(tokenFile string) error {
	token, err := os.ReadFile(tokenFile)
	if err != nil {
		return err
	}
	if err := r.tab.Visit(r.address + "/-/sign-in?to=/sample/tour"); err != nil {
		return err
	}
	if _, err := harness.Eval[bool](r.tab, `document.querySelector("input[name=token]").focus(), true`); err != nil {
		return err
	}
	if err := r.tab.Type(strings.TrimSpace(string(token))); err != nil {
		return err
	}
	return r.tab.Click(`main button, form button`)
}

// longest is how long the tour may take.
const longest = 10 * time.Minute

// play goes through the tour: it clicks the first button that is there, and waits where there is none.
func (r *recorder) play(ctx context.Context) error {
	for end := time.Now().Add(longest); time.Now().Before(end); {
		if err := r.tab.Visit(r.address + "/sample/tour"); err != nil {
			return err
		}
		button, err := harness.Eval[string](r.tab, choose)
		if err != nil {
			return err
		}
		if err := r.shoot(button); err != nil {
			return err
		}
		switch button {
		case "end":
			return nil
		case "":
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(time.Second):
			}
		default:
			if err := r.tab.Click("#recorded"); err != nil {
				return err
			}
		}
	}
	return fmt.Errorf("the tour did not end within %s", longest)
}

// choose marks the button to click, and returns its text; "end" at the end of the tour.
const choose = `(() => {
  if (document.getElementById("end")) return "end";
  for (const action of ["merge", "cluster", "propose"]) {
    const button = document.querySelector('#main form[action="/sample/tour/' + action + '"] button');
    if (button) { button.id = "recorded"; return button.innerText; }
  }
  return "";
})()`

package serve

import (
	"bytes"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/schedule"
)

func (f *fakeFlows) fail(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err = err
}

func TestForgeThatIsDownForAnHour(t *testing.T) {
	f := &fakeFlows{}
	keep(t, f, func(k *Keeper) {
		f.taken()
		f.fail(&forge.Error{Kind: forge.ErrUnavailable, Op: "find changes"})
		// An event during that time is not lost, although no event is repeated.
		k.HandleEvent(forge.Event{Kind: forge.EventPush, Repository: "platform/control-plane", Branch: "dev"})
		time.Sleep(time.Hour)
		synctest.Wait()
		tries := f.taken()
		if n := count(tries, "round dev"); n < 12 || n > 30 {
			t.Errorf("%d rounds were tried within the hour, want pauses that grow to %s", n, lastRetry)
		}
		f.fail(nil)
		time.Sleep(lastRetry)
		synctest.Wait()
		if n := count(f.taken(), "round dev"); n < 1 || n > 2 { // the regular poll may come in between
			t.Errorf("%d rounds after the forge is back, want one", n)
		}
	})
}

func count(calls []string, call string) int {
	return len(slices.DeleteFunc(calls, func(c string) bool { return c != call }))
}

func TestFailingEnvironmentDoesNotBlockOthers(t *testing.T) {
	f := &fakeFlows{failing: "dev", err: &forge.Error{Kind: forge.ErrDenied, Right: "to write pull requests"}}
	keep(t, f, func(k *Keeper) {
		f.taken()
		k.HandleEvent(forge.Event{Kind: forge.EventPush, Repository: "platform/control-plane", Branch: "stage"})
		want(t, f, "round stage")
	})
}

func TestLogsHaveALineForEachThingDone(t *testing.T) {
	var lines bytes.Buffer
	k := &Keeper{Log: slog.New(slog.NewTextHandler(&lines, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}))}
	k.start()
	i := item{task: doRound, controlPlane: controlPlane, environment: "dev"}
	o := &schedule.Outcome{
		PullRequest: &forge.PullRequest{Number: 7, URL: "https://forge.example.com/7"},
		Did:         []string{"committed 1f0c2aa", "opened pull request 7"},
		Waits:       "status build is pending",
		Read:        []schedule.Location{{Repo: controlPlane, Branch: "dev"}},
	}
	k.logOutcome(i, o, k.remember(i, o))
	o.Did = nil
	k.logOutcome(i, o, k.remember(i, o)) // it still waits for the same reason
	k.retry(i, errors.New("no"))
	where := "controlPlane=" + controlPlane + " environment=dev"
	want := strings.Join([]string{
		`level=INFO msg="committed 1f0c2aa" ` + where + ` change=7 url=https://forge.example.com/7`,
		`level=INFO msg="opened pull request 7" ` + where + ` change=7 url=https://forge.example.com/7`,
		`level=INFO msg=waiting ` + where + ` change=7 url=https://forge.example.com/7 for="status build is pending"`,
		`level=ERROR msg="round failed, trying again" ` + where + ` work=environment failures=1 error=no`,
	}, "\n") + "\n"
	if lines.String() != want {
		t.Errorf("logged\n%swant\n%s", &lines, want)
	}
}

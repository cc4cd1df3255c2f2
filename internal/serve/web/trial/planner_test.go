package trial_test

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kalypso-io/kalypso/internal/schedule"
	"github.com/kalypso-io/kalypso/internal/schedule/plan"
	"github.com/kalypso-io/kalypso/internal/serve/web/trial"
)

// slow returns a planner that takes a minute for each plan, and the list of what it has planned. Read the list while it is idle.
func slow() (*trial.Planner, *[]string) {
	var mu sync.Mutex // there are two queues
	var planned []string
	return &trial.Planner{Wait: time.Hour, Plan: func(_ context.Context, t schedule.PlanRequest) (*schedule.Preview, error) {
		time.Sleep(time.Minute)
		mu.Lock()
		defer mu.Unlock()
		planned = append(planned, t.Branch)
		return &schedule.Preview{Drafts: []*schedule.Draft{{Plan: &plan.Plan{Environment: t.Branch}}}}, nil
	}}, &planned
}

func ask(d *trial.Planner, branch string, urgent bool, patience time.Duration) (trial.Answer, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return d.Preview(ctx, schedule.PlanRequest{Branch: branch}, urgent)
}

func TestEqualQuestionsArePlannedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, planned := slow()
		for range 200 {
			go func() { _, _ = ask(d, "topic", false, time.Second) }()
		}
		var pending *trial.Pending
		if _, err := ask(d, "topic", true, time.Second); !errors.As(err, &pending) || pending.Queued {
			t.Fatalf("got %v, want that it is in progress", err)
		}
		a, err := ask(d, "topic", false, time.Hour)
		if err != nil || len(a.Plans) != 1 || a.Plans[0].Environment != "topic" {
			t.Fatalf("got %+v, %v", a, err)
		}
		if again, _ := ask(d, "topic", false, time.Second); !again.At.Equal(a.At) || len(*planned) != 1 {
			t.Errorf("planned %q, and again at %s after %s", *planned, again.At, a.At)
		}
		time.Sleep(trial.Fresh)
		if again, err := ask(d, "topic", false, time.Hour); err != nil || again.At.Equal(a.At) {
			t.Errorf("got the old answer (%v)", err)
		}
	})
}

// Many questions of readers are planned one after the other, and do not delay operators.
func TestManyQuestionsDoNotDelayOperators(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, planned := slow()
		busy := 0
		for i := range 50 {
			if _, err := ask(d, strconv.Itoa(i), false, time.Millisecond); errors.Is(err, trial.ErrBusy) {
				busy++
			}
		}
		if want := 50 - 1 - trial.MaxWaiting; busy != want {
			t.Errorf("%d were turned away, want %d", busy, want)
		}
		if _, err := ask(d, "urgent", true, 2*time.Minute); err != nil {
			t.Errorf("an operator waits for readers: %v", err)
		}
		time.Sleep(time.Hour)
		if len(*planned) > 3 {
			t.Errorf("planned %q, though no client asks any more", *planned)
		}
		if _, err := ask(d, "later", false, 2*time.Minute); err != nil {
			t.Errorf("the queue is stuck: %v", err)
		}
	})
}

// An operator does not wait for a reader who asked the same before.
func TestQuestionOfAReaderBecomesUrgentForAnOperator(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, planned := slow()
		for i := range 5 {
			_, _ = ask(d, strconv.Itoa(i), false, time.Millisecond)
		}
		if _, err := ask(d, "4", true, 2*time.Minute); err != nil {
			t.Errorf("an operator waits for readers: %v", err)
		}
		for i := range 4 {
			if _, err := ask(d, strconv.Itoa(i), false, time.Hour); err != nil {
				t.Errorf("question %d: %v", i, err)
			}
		}
		if len(*planned) > 5 {
			t.Errorf("planned %q", *planned)
		}
	})
}

func TestErrorsAndPanicsAreAnswers(t *testing.T) {
	wrong := errors.New("wrong")
	d := &trial.Planner{Plan: func(_ context.Context, t schedule.PlanRequest) (*schedule.Preview, error) {
		if t.Branch == "panic" {
			panic("at the disco")
		}
		return nil, wrong
	}}
	if _, err := ask(d, "error", false, time.Minute); !errors.Is(err, wrong) {
		t.Errorf("got %v", err)
	}
	var broken *trial.PanicError
	if _, err := ask(d, "panic", false, time.Minute); !errors.As(err, &broken) || len(broken.Stack) == 0 {
		t.Errorf("got %v", err)
	}
	if _, err := ask(d, "error again", false, time.Minute); !errors.Is(err, wrong) {
		t.Errorf("the queue is stuck: %v", err)
	}
}

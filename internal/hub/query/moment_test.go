package query_test

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/ledger"
)

// aboutTimes calls each query of an observer that has a point in time, with this one, once for each of its times.
func aboutTimes(t *testing.T, o *query.Observer, at time.Time, check func(name string, err error)) {
	t.Helper()
	v, found := reflect.ValueOf(o), 0
	for i := range v.NumMethod() {
		name, method := v.Type().Method(i).Name, v.Method(i)
		if f := method.Type(); f.NumIn() != 2 || f.In(0) != reflect.TypeFor[context.Context]() || f.In(1).Kind() != reflect.Struct {
			continue
		}
		for _, field := range []string{"AsOf", "BAsOf"} {
			q := reflect.New(method.Type().In(1)).Elem()
			if !q.FieldByName(field).IsValid() {
				continue
			}
			q.FieldByName(field).Set(reflect.ValueOf(at))
			for _, one := range []string{"A", "B", "Name", "Environment"} {
				if f := q.FieldByName(one); f.IsValid() && name != "Cluster" {
					f.SetString("dev")
				}
			}
			answers := method.Call([]reflect.Value{reflect.ValueOf(t.Context()), q})
			err, _ := answers[len(answers)-1].Interface().(error)
			check(name+" with "+field, err)
			found++
		}
	}
	if found < 11 {
		t.Errorf("only %d times of queries were found", found)
	}
}

// TestTheFutureIsNotKnown, in any query; the clock of a client may be somewhat ahead.
func TestTheFutureIsNotKnown(t *testing.T) {
	w := newWorld(t)
	w.fact("10:00 register c-1 dev/large")
	o := &query.Observer{Ledger: w, Now: func() time.Time { return clock(t, "12:00") }}
	aboutTimes(t, o, clock(t, "12:02"), func(name string, err error) {
		if !errors.Is(err, ledger.ErrInvalid) || !strings.Contains(err.Error(), "2026-03-02T12:02:00Z is in the future") {
			t.Errorf("%s: got %v", name, err)
		}
	})
	aboutTimes(t, o, clock(t, "12:00").Add(20*time.Second), func(name string, err error) {
		if errors.Is(err, ledger.ErrInvalid) {
			t.Errorf("%s: got %v", name, err)
		}
	})
}

// TestWorkspacesHaveNoPast: each query about a time is refused with the same words, whatever the time.
func TestWorkspacesHaveNoPast(t *testing.T) {
	w := newWorld(t)
	w.fact("10:00 register c-1 dev/large")
	all := &query.Observer{Ledger: w, Now: func() time.Time { return clock(t, "12:00") }}
	o := all.Within("shop", func(_, workspace, _ string) bool { return workspace == "shop" })
	for _, at := range []string{"11:00", "13:00"} {
		aboutTimes(t, o, clock(t, at), func(name string, err error) {
			if !errors.Is(err, ledger.ErrInvalid) || !strings.Contains(err.Error(), "a role in workspaces shows the current state, and not an earlier one") {
				t.Errorf("%s at %s: got %v", name, at, err)
			}
		})
	}
}

// TestThePastKnowsWhoWasOffline: the ledger keeps silences, so that a cluster is offline at a time at which it was,
// and not before or after.
func TestThePastKnowsWhoWasOffline(t *testing.T) {
	w := newWorld(t)
	for _, line := range []string{
		"08:00 register c-1 dev/large", "08:00 register c-2 dev/large", "08:10 platform dev a1 b1 large/shop-web",
		"08:20 report c-1 dev platform a1 ready", "08:20 report c-2 dev platform a1 ready",
		"10:00 heard c-1", "10:00 heard c-2", "10:30 heard c-1",
	} {
		w.fact(line)
	}
	o := &query.Observer{Ledger: w, Now: func() time.Time { return clock(t, "12:00") }}
	for at, want := range map[string]int{"08:30": 0, "10:05": 0, "10:20": 2, "10:35": 1} {
		e, err := o.Environment(t.Context(), query.EnvironmentQuery{Name: "dev", AsOf: clock(t, at)})
		if err != nil || e.Gate == nil {
			t.Fatalf("%s: %+v, %v", at, e, err)
		}
		if got := e.Gate.Counts; got.Offline != want || got.Offline+got.Reached != 2 {
			t.Errorf("at %s: %+v, want %d offline", at, got, want)
		}
	}
}

// TestThePastHasRings: what was recorded about rings by a time is how they were.
func TestThePastHasRings(t *testing.T) {
	w := newWorld(t)
	for _, line := range []string{
		"08:00 register c-1 dev/large", "08:10 platform dev a1 b1 large/shop-web",
		`09:00 step dev/canary a1 stateChanged - {"phase":"applying"} 1 of 1 clusters behind`,
		`09:10 step dev/canary a1 stateChanged - {"phase":"good"} is deployed`,
	} {
		w.fact(line)
	}
	o := &query.Observer{Ledger: w, Now: func() time.Time { return clock(t, "12:00") }}
	for at, want := range map[string]string{"08:30": "", "09:05": "applying", "09:30": "good"} {
		e, err := o.Environment(t.Context(), query.EnvironmentQuery{Name: "dev", AsOf: clock(t, at)})
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, r := range e.Rings {
			got += string(r.Phase)
		}
		if got != want {
			t.Errorf("at %s the rings are %q, want %q", at, got, want)
		}
	}
}

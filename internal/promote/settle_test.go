package promote_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/kalypso-io/kalypso/internal/promote"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
)

// TestSettleWaitsForVerifications checks that Settle ends with the first round that changes nothing.
func TestSettleWaitsForVerifications(t *testing.T) {
	b, g, _ := verifying(t)
	go func() {
		<-g.begun
		g.result <- nil
	}()
	var last *promote.Outcome
	err := b.promoter.Settle(t.Context(), func(context.Context) (promote.Settled, error) {
		last = b.round()
		return promote.Settled{Outcome: last, Changed: len(last.Did) > 0}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if e := last.Environments[0]; e.Phase != decide.Good || len(last.Did) > 0 {
		t.Errorf("got %s, %v; want a round in which it is deployed and nothing is done", e.Phase, last.Did)
	}
}

func TestSettleEnds(t *testing.T) {
	wrong := errors.New("wrong")
	idle, busy := promote.Settled{Outcome: &promote.Outcome{}}, promote.Settled{Outcome: &promote.Outcome{}, Changed: true}
	for name, tc := range map[string]struct {
		rounds []promote.Settled
		errs   []error
		want   string
	}{
		"after a round that changes nothing":    {[]promote.Settled{busy, idle}, []error{nil, nil}, ""},
		"after changes, with the last error":    {[]promote.Settled{busy, idle}, []error{wrong, wrong}, "wrong"},
		"without the error that did not last":   {[]promote.Settled{busy, idle}, []error{wrong, nil}, ""},
		"at once, if there was no promotion":    {[]promote.Settled{{Changed: true}}, []error{wrong}, "wrong"},
		"if rounds change something every time": {[]promote.Settled{busy}, []error{nil}, "after 50 rounds"},
	} {
		t.Run(name, func(t *testing.T) {
			n := 0
			err := (&promote.Promoter{}).Settle(t.Context(), func(context.Context) (promote.Settled, error) {
				i := min(n, len(tc.rounds)-1)
				n++
				return tc.rounds[i], tc.errs[i]
			})
			if got := errorText(err); (got == "") != (tc.want == "") || !strings.Contains(got, tc.want) {
				t.Errorf("got %q, want %q", got, tc.want)
			}
			if tc.want != "after 50 rounds" && n != len(tc.rounds) {
				t.Errorf("got %d rounds, want %d", n, len(tc.rounds))
			}
		})
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

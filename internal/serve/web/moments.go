package web

import (
	"errors"
	"fmt"
	"math"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/promote"
)

// timeBar chooses the moment that a page shows. Without scripts it is a form and a list of links; with them, the slider moves among the
// moments at which something happened.
type timeBar struct {
	// Action is the address of the form, and Kept are parameters of the page that it keeps.
	Action string
	Kept   []Link
	// First and Last are the ends of the slider and At its value, in seconds since 1970. Last is now.
	First, Last, At int64
	// Shown is the moment that is shown; zero for now.
	Shown time.Time
	// Moments are those at which something happened, the newest first; More is the address of the full history.
	Moments []momentView
	More    string
	// Earlier and Later are the addresses of the neighboring moments; empty if there is none. Now is the current state.
	Earlier, Later, Now string
	// Since is the comparison of the moment with now; empty if the page is not of one environment.
	Since string
}

// momentView is a moment at which something happened.
type momentView struct {
	At time.Time
	// Unix is At in seconds, from the start of the second in which it is over.
	Unix          int64
	Address, Text string
	// More is how many more things happened in that second.
	More int
	// X is its place on the slider, in percent.
	X float64
	// Here means that it is the one that is shown.
	Here bool
}

// maxMoments limits the moments of a slider.
const maxMoments = 100

// asOf returns the requested point in time; zero for now. A form that has a slider sends it as at, in seconds.
func (q *pageRequest) asOf() (at time.Time, moved string, err error) {
	if text := q.text("at"); text != "" {
		seconds, err := strconv.ParseInt(text, 10, 64)
		if err != nil || seconds < 0 || seconds > q.now.AddDate(100, 0, 0).Unix() {
			return at, "", fmt.Errorf("%w: the parameter at is %.20q, and not a time in seconds since 1970", ledger.ErrInvalid, text)
		}
		asOf := ""
		if at = time.Unix(seconds, 0).UTC(); at.Before(q.now.Add(-nearNow)) {
			asOf = at.Format(time.RFC3339)
		}
		return at, q.with("at", "", "asOf", asOf), nil
	}
	at, err = q.when("asOf")
	return at, "", err
}

// nearNow is how close to now the slider's end is: a page may be some time old when it is moved.
const nearNow = 2 * time.Second

// timeBar returns the bar of a page; environment may be empty for all. It is nil for users with roles in workspaces, who see only the
// current state.
func (s *site) timeBar(q *pageRequest, environment string, asOf time.Time) (*timeBar, error) {
	if q.observer.Scoped() {
		return nil, nil
	}
	b := &timeBar{Action: q.URL.Path, Shown: asOf, Last: q.now.Unix(), Now: q.with("asOf", ""), More: "/history"}
	for _, name := range []string{"controlPlane", "find", "state", "workspace", "a", "b", "bAsOf"} {
		if value := q.text(name); value != "" {
			b.Kept = append(b.Kept, Link{name, value})
		}
	}
	if environment != "" {
		b.More += "?environment=" + url.QueryEscape(environment)
	}
	events, err := s.momentsOf(q, environment, asOf)
	if err != nil {
		return nil, err
	}
	b.At, b.First = b.Last, b.Last-1
	if !asOf.IsZero() {
		b.At = min(asOf.Unix(), b.Last)
		b.First = min(b.First, b.At)
		if environment != "" {
			b.Since = "/compare?" + url.Values{
				"a": {environment}, "b": {environment}, "asOf": {asOf.Format(time.RFC3339)}, "bAsOf": {q.now.Truncate(time.Second).Format(time.RFC3339)},
			}.Encode()
		}
	}
	for _, e := range events {
		b.add(q, e)
	}
	if b.First -= (b.Last - b.First) / 50; len(b.Moments) == 0 { // the first moment is not at the very edge
		b.First = min(b.First, b.Last-int64(time.Hour/time.Second))
	}
	for i := range b.Moments {
		m := &b.Moments[i]
		m.X = math.Round(10000*float64(m.Unix-b.First)/float64(max(1, b.Last-b.First))) / 100
		switch m.Here = !asOf.IsZero() && m.Unix == b.At; {
		case m.Unix > b.At:
			b.Later = m.Address
		case m.Unix < b.At && b.Earlier == "":
			b.Earlier = m.Address
		}
	}
	return b, nil
}

// add adds an event. Those of one second are one moment.
func (b *timeBar) add(q *pageRequest, e query.Event) {
	at := e.At.UTC().Truncate(time.Second).Add(time.Second) // when it was over
	text := e.Summary
	if e.By != "" {
		text += " by " + e.By
	}
	if n := len(b.Moments); n > 0 && b.Moments[n-1].Unix == at.Unix() {
		b.Moments[n-1].More++
		return
	}
	b.First = min(b.First, at.Unix())
	b.Moments = append(b.Moments, momentView{At: e.At, Unix: at.Unix(), Address: q.with("asOf", at.Format(time.RFC3339), "after", ""), Text: line(text)})
}

// momentsOf returns the newest events, and those before a moment that is older.
func (s *site) momentsOf(q *pageRequest, environment string, asOf time.Time) ([]query.Event, error) {
	h := query.HistoryQuery{
		Environment: environment, Kinds: []query.EventKind{query.EventPromotion, query.EventCommit, query.EventChange}, Paging: query.Paging{Limit: maxMoments},
	}
	var several *query.AmbiguousError
	if _, err := q.observer.ControlPlaneOf(environment, ""); errors.As(err, &several) {
		return nil, nil // the history does not tell them apart
	}
	page, err := q.observer.History(q.Context(), h)
	if err != nil {
		return nil, err
	}
	events := page.Items
	if n := len(events); page.Next != "" && !asOf.IsZero() && asOf.Before(events[n-1].At) {
		h.To = asOf
		older, err := q.observer.History(q.Context(), h)
		if err != nil {
			return nil, err
		}
		events = slices.Concat(events, older.Items)
	}
	return slices.DeleteFunc(events, func(e query.Event) bool { return e.Step == string(promote.StatusPosted) }), nil
}

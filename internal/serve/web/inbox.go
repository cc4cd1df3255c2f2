package web

import (
	"net/http"
	"sync"
	"time"

	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/serve/access"
	"github.com/kalypso-io/kalypso/internal/serve/api"
	"github.com/kalypso-io/kalypso/internal/text/look"
)

// inbox counts what needs users, for the navigation. Users of the same scope share a count for a few seconds.
type inbox struct {
	mu     sync.Mutex
	counts map[string]inboxCount
}

type inboxCount struct {
	n  int
	at time.Time
}

// inboxAge is how long a count is reused, and maxInboxes limits the scopes whose count is kept.
const (
	inboxAge   = 3 * time.Second
	maxInboxes = 256
)

// addInbox adds how much needs the user to the navigation. What cannot be counted has no number.
func (s *site) addInbox(r *http.Request, who access.Identity, places []look.Place) {
	for i := range places {
		if places[i].Address == "/needs" && ruleOf("needs").Admit(who) == nil {
			places[i].Count = s.countNeeds(r, who)
		}
	}
}

func (s *site) countNeeds(r *http.Request, who access.Identity) int {
	observer := api.Seen(s.Observer, who)
	if observer.Fleet == nil || len(observer.Fleet.ControlPlanes()) == 0 {
		return 0
	}
	key := string(who.Role) + " " + who.Sees().RolesKey()
	now := s.now()
	s.inbox.mu.Lock()
	known, ok := s.inbox.counts[key]
	s.inbox.mu.Unlock()
	if ok && now.Sub(known.at) < inboxAge {
		return known.n
	}
	found, err := observer.Needs(r.Context(), query.NeedsQuery{Paging: query.Paging{Limit: 1}})
	if err != nil {
		return known.n
	}
	s.inbox.mu.Lock()
	defer s.inbox.mu.Unlock()
	if s.inbox.counts == nil || len(s.inbox.counts) >= maxInboxes {
		s.inbox.counts = map[string]inboxCount{}
	}
	s.inbox.counts[key] = inboxCount{found.Total, now}
	return found.Total
}

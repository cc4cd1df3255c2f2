package web

import (
	"net/url"

	"github.com/kalypso-io/kalypso/internal/hub/query"
)

// missingView is a list of required values that targets lack.
type missingView struct {
	Values []missingValue
	// More means that there are others.
	More bool
}

// missingValue is a value with the form that sets it; empty if there is none for this user.
type missingValue struct {
	query.MissingValue
	Form string
}

// maxMissingValues limits the values on a page.
const maxMissingValues = 100

// missingValues returns what the targets of an environment lack, or one of them.
func (s *site) missingValues(q *pageRequest, missing query.MissingQuery) (*missingView, error) {
	missing.Limit = maxMissingValues
	page, err := q.observer.Missing(q.Context(), missing)
	if err != nil {
		return nil, err
	}
	v := &missingView{More: page.Next != ""}
	for _, m := range page.Items {
		one := missingValue{MissingValue: m}
		switch {
		case m.Application != "":
			form := url.Values{"environment": {m.Environment}, "subject": {m.Subject}}
			if m.Target != "" {
				form.Set("target", m.Target)
			}
			one.Form = workloadAddress(m.Application) + "/values?" + form.Encode()
		case !q.observer.Scoped():
			one.Form = "/environments/" + url.PathEscape(m.Environment) + "/values?controlPlane=" + url.QueryEscape(m.ControlPlane)
		}
		v.Values = append(v.Values, one)
	}
	return v, nil
}

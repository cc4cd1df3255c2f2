package plane

import (
	"testing"

	"github.com/kalypso-io/kalypso/internal/deliver"
	"github.com/kalypso-io/kalypso/internal/hub/query"
)

// TestApplicationsAreReadBeforeTheirVersionsAreDeleted: a new server does not know yet what is pinned.
func TestApplicationsAreReadBeforeTheirVersionsAreDeleted(t *testing.T) {
	t.Parallel()
	const one, two, source = "https://git.example/one", "https://git.example/two", "https://git.example/shop"
	board := &Board{}
	a := &Applications{listed: map[string]bool{}, known: map[registration]*application{}}
	request := deliver.Request{Source: source, Workload: "shop"}
	for _, step := range []struct {
		name       string
		do         func()
		shop, bank bool
	}{
		{"nothing was read", func() {}, false, false},
		{"one control plane was read", func() { a.listed[one] = true }, false, false},
		{"a registration could not be read", func() { a.listed[two] = false }, false, false},
		{"all were read", func() { a.listed[two] = true }, true, true},
		{"it is registered", func() {
			a.known[registration{two, deliver.SubjectOf(source, "shop")}] = &application{request: request}
		}, false, true},
		{"it was delivered", func() { board.Delivered(query.Round{ControlPlane: two, Request: request}) }, true, true},
	} {
		step.do()
		all := []string{one, two}
		if shop, bank := a.Read(board, all, "shop"), a.Read(board, all, "bank"); shop != step.shop || bank != step.bank {
			t.Errorf("%s: shop %t, bank %t", step.name, shop, bank)
		}
	}
}

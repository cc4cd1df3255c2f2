package access_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/ledger/sqlite"
	"github.com/kalypso-io/kalypso/internal/serve/access"
)

// TestRulesDecide is the table of roles and places: which client may use a rule at all, and where.
func TestRulesDecide(t *testing.T) {
	shopDev := access.Place{ControlPlane: "https://git.example.com/cp", Workspace: "shop", Environment: "dev"}
	shopProd := access.Place{ControlPlane: "https://git.example.com/cp", Workspace: "shop", Environment: "prod"}
	shopAnywhere := access.Place{ControlPlane: "https://git.example.com/cp", Workspace: "shop"}
	elsewhere := access.Place{ControlPlane: "https://git.example.com/other", Workspace: "shop", Environment: "dev"}
	billing := access.Place{ControlPlane: "https://git.example.com/cp", Workspace: "billing", Environment: "dev"}
	platform := access.Place{ControlPlane: "https://git.example.com/cp", Environment: "dev"}
	places := []access.Place{shopDev, shopProd, shopAnywhere, elsewhere, billing, platform}

	grant := func(role access.Role, environments ...string) access.Identity {
		return access.Identity{Name: "ann", Source: access.BySession, Grants: []access.Grant{{Role: role, Workspaces: []string{"shop"}, Environments: environments}}}
	}
	limited := grant(access.Operator)
	limited.Grants[0].ControlPlane = "https://git.example.com/cp.git"
	read := access.Rule{Role: access.Reader, Scoped: true}
	approve := access.Rule{Role: access.Approver, Scoped: true}
	steer := access.Rule{Role: access.Operator, Scoped: true}
	for name, c := range map[string]struct {
		who   access.Identity
		rule  access.Rule
		admit bool
		// places has a letter for each place where it is allowed.
		places string
	}{
		"no role":                      {access.Identity{Source: access.BySession}, read, false, "......"},
		"anonymous":                    {access.Identity{}, read, false, "......"},
		"reader of the server":         {access.Identity{Role: access.Reader}, read, true, "yyyyyy"},
		"reader of the server steers":  {access.Identity{Role: access.Reader}, steer, false, "......"},
		"operator of the server":       {access.Identity{Role: access.Operator}, approve, true, "yyyyyy"},
		"reader of shop":               {grant(access.Reader), read, true, "yyyy.."},
		"reader of shop in dev":        {grant(access.Reader, "dev"), read, true, "y..y.."},
		"reader of shop approves":      {grant(access.Reader), approve, false, "......"},
		"approver of shop":             {grant(access.Approver), approve, true, "yyyy.."},
		"approver of shop steers":      {grant(access.Approver), steer, false, "......"},
		"operator of shop in dev":      {grant(access.Operator, "dev"), steer, true, "y..y.."},
		"operator of one plane's shop": {limited, steer, true, "yyy..."},
		"operator of shop, all":        {grant(access.Operator), access.Rule{Role: access.Operator}, false, "......"},
		"admin by a grant":             {grant(access.Admin), access.Rule{Role: access.Admin}, false, "......"},
		"no rule":                      {access.Identity{Role: access.Admin}, access.Rule{}, false, "......"},
		"a public one":                 {access.Identity{}, access.Rule{Public: true}, true, "yyyyyy"},
	} {
		if err := c.rule.Admit(c.who); (err == nil) != c.admit {
			t.Errorf("%s: admitted with %v", name, err)
		}
		for i, p := range places {
			if _, err := c.rule.Allow(c.who, p); (err == nil) != (c.places[i] == 'y') {
				t.Errorf("%s: %+v allowed with %v", name, p, err)
			}
		}
	}
	if used, _ := steer.Allow(grant(access.Operator, "dev"), shopDev); used == nil || used.String() != "operator of shop in dev" {
		t.Errorf("the grant that was used is %v", used)
	}
}

// TestRefusalsSayWhatIsEnough: where a role in the workspace is enough, a role of the server is not asked for. Names are quoted, so that no
// sentence changes them.
func TestRefusalsSayWhatIsEnough(t *testing.T) {
	team := access.Identity{Name: "team-k", Source: access.ByToken, Grants: []access.Grant{{Role: access.Reader, Workspaces: []string{"shop"}}}}
	for want, c := range map[string]struct {
		who  access.Identity
		rule access.Rule
	}{
		`"team-k" needs the role operator, in the workspace or of the server: ask an admin for a grant`:       {team, access.Rule{Role: access.Operator, Scoped: true}},
		`"team-k" has roles in workspaces only, and this needs the role operator of the server: ask an admin`: {team, access.Rule{Role: access.Operator}},
		`"ann" has the role reader, and this needs operator: use a token of that role, or ask an admin`:       {access.Identity{Name: "ann", Role: access.Reader, Source: access.ByToken}, access.Rule{Role: access.Operator, Scoped: true}},
		`"ben" has no role here, and this needs operator: ask an admin to give one of your groups a role`:     {access.Identity{Name: "ben", Source: access.BySession}, access.Rule{Role: access.Operator, Scoped: true}},
		`"team-k" is not reader of workspace "cart" in environment "dev": ask an admin for a grant`:           {team, access.Rule{Role: access.Reader, Scoped: true}},
	} {
		if _, err := c.rule.Allow(c.who, access.Place{Workspace: "cart", Environment: "dev"}); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func TestScopesDifferByWhatTheySee(t *testing.T) {
	key := func(grants ...access.Grant) string { return access.Identity{Grants: grants}.Sees().Key() }
	one := access.Grant{Role: access.Reader, Groups: []string{"a"}, Workspaces: []string{"x", "y"}}
	same := access.Grant{Role: access.Operator, Groups: []string{"b"}, Workspaces: []string{"y", "x", "x"}, From: "elsewhere"}
	if key(one) != key(same) || key(one) != key(one, same) {
		t.Error("equal scopes have different keys")
	}
	keys := map[string]bool{key(): true, access.Everything().Key(): true}
	for _, g := range []access.Grant{
		one,
		{Workspaces: []string{"x,y"}},
		{Workspaces: []string{"x"}, Environments: []string{"y"}},
		{Workspaces: []string{"x"}},
		{Workspaces: []string{"x"}, ControlPlane: "y"},
		{Workspaces: []string{`x","y`}},
	} {
		if k := key(g); keys[k] {
			t.Errorf("%+v has the key of another scope: %s", g, k)
		} else {
			keys[k] = true
		}
	}
}

// TestGrantsComeFromGroupsOnly: a user who is called like a group gets nothing by it.
func TestGrantsComeFromGroupsOnly(t *testing.T) {
	grants := []access.Grant{
		{Role: access.Reader, Groups: []string{"team-shop", "team-billing"}, Workspaces: []string{"shop"}},
		{Role: access.Operator, Groups: []string{"team-billing"}, Workspaces: []string{"billing"}},
	}
	g := &access.Guard{Grants: func() []access.Grant { return grants }}
	if who := g.Granted(access.Identity{Name: "team-billing", Source: access.BySession}); len(who.Grants) > 0 {
		t.Errorf("the name gave %v", who.Grants)
	}
	who := g.Granted(access.Identity{Name: "ann", Groups: []string{"staff"}, Claimed: []string{"TEAM-BILLING", "staff", "team-shop"}})
	if len(who.Grants) != 1 || strings.Join(who.Grants[0].Groups, " ") != "team-shop" || strings.Join(who.Groups, " ") != "staff team-shop" {
		t.Errorf("got %+v", who)
	}
	grants = nil
	if who := g.Granted(access.Identity{Claimed: []string{"team-shop"}}); len(who.Grants) > 0 {
		t.Error("a withdrawn grant stays")
	}
}

func TestGrantsAreChecked(t *testing.T) {
	good := access.Grant{Role: access.Reader, Groups: []string{"g"}, Workspaces: []string{"w"}}
	if err := good.Check(); err != nil {
		t.Error(err)
	}
	for name, spoil := range map[string]func(*access.Grant){
		"role: \"admin\"":       func(g *access.Grant) { g.Role = access.Admin },
		"groups: name":          func(g *access.Grant) { g.Groups = nil },
		"workspaces: name":      func(g *access.Grant) { g.Workspaces = nil },
		`workspaces: "*"`:       func(g *access.Grant) { g.Workspaces = []string{"*"} },
		"environments: name":    func(g *access.Grant) { g.Environments = []string{} },
		`environments: ""`:      func(g *access.Grant) { g.Environments = []string{""} },
		`groups: "two\nlines"`:  func(g *access.Grant) { g.Groups = []string{"two\nlines"} },
		"workspaces: want at m": func(g *access.Grant) { g.Workspaces = make([]string, 1001) },
	} {
		bad := good
		spoil(&bad)
		if err := bad.Check(); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// TestTokensOfWorkspaces have grants, and no role that an older server would take for one of all workspaces.
func TestTokensOfWorkspaces(t *testing.T) {
	l, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "ledger.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	guard := &access.Guard{Store: l}
	tokens := access.Tokens{Store: l, Guard: guard}
	value, stored, err := tokens.Create(t.Context(), access.TokenRequest{Name: "ci", Role: access.Operator, Workspaces: []string{"shop"}, Environments: []string{"dev"}}, access.Identity{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := access.ParseRole(stored.Role); err == nil {
		t.Errorf("an older server takes the token for a global %s", stored.Role)
	}
	who, err := guard.IdentifyToken(t.Context(), value, "192.0.2.1")
	if err != nil || who.Role != "" || len(who.Grants) != 1 || who.Grants[0].String() != "operator of shop in dev" || who.May(access.Reader) == nil {
		t.Errorf("got %+v, %v", who, err)
	}
	for name, w := range map[string]access.TokenRequest{
		"admin of a workspace":         {Name: "x", Role: access.Admin, Workspaces: []string{"shop"}},
		"environments only":            {Name: "x", Role: access.Reader, Environments: []string{"dev"}},
		"an empty list of workspaces":  {Name: "x", Role: access.Reader, Workspaces: []string{}},
		"empty list of environments":   {Name: "x", Role: access.Reader, Workspaces: []string{"shop"}, Environments: []string{}},
		"approver of the whole server": {Name: "x", Role: access.Approver},
		"scoped by name":               {Name: "x", Role: access.Scoped},
	} {
		if _, _, err := tokens.Create(t.Context(), w, access.Identity{}); err == nil {
			t.Errorf("%s: it was created", name)
		}
	}
	for name, scope := range map[string]string{"nothing": "", "garbage": "{", "unknown fields": `{"role":"reader","workspaces":["a"],"all":true}`, "no workspaces": `{"role":"reader"}`, "admin": `{"role":"admin","workspaces":["a"]}`} {
		bad := access.NewToken(access.Scoped)
		if err := l.PutToken(t.Context(), ledger.Token{ID: name, Hash: access.Hash(bad), Role: string(access.Scoped), Scope: scope, Created: time.Now()}); err != nil {
			t.Fatal(err)
		}
		if _, err := guard.IdentifyToken(t.Context(), bad, "192.0.2.2"); err == nil {
			t.Errorf("%s: the token is accepted", name)
		}
	}
}

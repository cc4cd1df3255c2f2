package look

// Shell is what surrounds a page. Its texts are shown as they are: the caller cleans those that are not its own.
type Shell struct {
	// Base is the prefix of the addresses of the first page and of static files. Optional.
	Base string
	// Title is the title of the page, which the bar shows after its place.
	Title string
	// Places are the entries of the navigation, in their order.
	Places []Place
	// Search is the address of the search; empty for none. Query is what the user searched for.
	Search, Query string
	// User and Role are those of the user; empty without a signed-in user.
	User, Role string
	// SignIn and SignOut are addresses; empty if not available.
	SignIn, SignOut string
	// SignOutForm is the token of the form that signs out; empty if SignOut is a page.
	SignOutForm string
}

// Place is an entry of the navigation.
type Place struct {
	Name, Address string
	// Current means that the page belongs to it.
	Current bool
	// Count is how many things wait there; 0 shows no number.
	Count int
}

// tools are the addresses of places that are tools, and not views of the fleet.
var tools = map[string]bool{"/plan": true, "/compare": true, "/figures": true, "/-/repositories": true, "/sample/tour": true}

// Tool reports whether a place is a tool. Tools have a group of their own, in which all others are that the program does not know.
func (p Place) Tool() bool { return tools[p.Address] || icons[p.Address] == "" }

// First reports whether a place is among the few that the bar of a phone has room for.
func (p Place) First() bool {
	switch p.Address {
	case "/", "/needs", "/workloads", "/clusters":
		return true
	}
	return false
}

// Icon is the drawing of a place, as the path of an SVG of 16 by 16.
func (p Place) Icon() string {
	if path := icons[p.Address]; path != "" {
		return path
	}
	return icons["/-/repositories"]
}

// icons has the drawings of places by address.
var icons = map[string]string{
	"/":               "M2 2.5h5v6H2zM9 2.5h5v3.5H9zM9 8.5h5v5H9zM2 11h5v2.5H2z",
	"/needs":          "M2 9l2-6h8l2 6v4H2zM2 9h4l1 2h2l1-2h4",
	"/map":            "M6 4a2 2 0 1 1-4 0 2 2 0 0 1 4 0zM14 8a2 2 0 1 1-4 0 2 2 0 0 1 4 0zM6 12a2 2 0 1 1-4 0 2 2 0 0 1 4 0zM6 4.5l4 2.5M6 11.5l4-2.5",
	"/workloads":      "M8 1.5l6 3v7l-6 3-6-3v-7zM2 4.5l6 3 6-3M8 7.5v7",
	"/clusters":       "M2 2.5h12v4.5H2zM2 9h12v4.5H2zM5 4.75h.01M5 11.25h.01",
	"/promotions":     "M2 8h8M7 4.5L10.5 8 7 11.5M13.5 3v10",
	"/history":        "M1 8h3l2-5 4 10 2-5h3",
	"/plan":           "M4 5v6a2 2 0 0 0 2 2h2M12 11V5a2 2 0 0 0-2-2H8M5.5 3.5a1.5 1.5 0 1 1-3 0 1.5 1.5 0 0 1 3 0zM13.5 12.5a1.5 1.5 0 1 1-3 0 1.5 1.5 0 0 1 3 0z",
	"/compare":        "M6 3H2v10h4M10 3h4v10h-4M8 1.5v13",
	"/figures":        "M2 2v12h12M5 11V8.5M8 11V5M11 11V7",
	"/-/repositories": "M4 2h9v12H4a1.5 1.5 0 0 1 0-3h9M4 2a1.5 1.5 0 0 0-1.5 1.5v9",
	"/sample/tour":    "M14 8A6 6 0 1 1 2 8a6 6 0 0 1 12 0zM10.5 5.5L9 9l-3.5 1.5L7 7z",
}

// Place is the place that the page belongs to; nil for none.
func (s Shell) Place() *Place {
	for i := range s.Places {
		if s.Places[i].Current {
			return &s.Places[i]
		}
	}
	return nil
}

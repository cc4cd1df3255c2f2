package forge

// Issue is an issue of a repository.
type Issue struct {
	Number int
	// URL is its page.
	URL         string
	Title, Body string
	State       State
	Author      string
	// Labels are sorted.
	Labels []string
}

// HasLabel reports whether the issue has a label, ignoring case.
func (i Issue) HasLabel(name string) bool { return hasLabel(i.Labels, name) }

// IssueFilter selects issues. An empty field matches all.
type IssueFilter struct {
	State State
	// Label is one of the labels.
	Label string
	// Marker is in the body, see [Mark].
	Marker string
}

// Matches reports whether an issue matches State and Marker. The forge compares labels.
func (f IssueFilter) Matches(i Issue) bool {
	return (f.State == "" || i.State == f.State) && (f.Marker == "" || Marked(i.Body, f.Marker))
}

// NewIssue describes an issue to open.
type NewIssue struct {
	Title string // required
	Body  string
	// Labels exist in the repository, see [Labels.EnsureLabel].
	Labels []string
}

// IssueEdit changes an issue. Nil fields are kept.
type IssueEdit struct {
	Title, Body *string
	// State is Open or Closed.
	State *State
}

// Empty reports whether the edit has no field set.
func (e IssueEdit) Empty() bool { return e == IssueEdit{} }

package forge

// Issue is a problem that people should look at.
type Issue struct {
	Number int
	// URL is its page for people.
	URL         string
	Title, Body string
	State       State
	Author      string
	// Labels are sorted.
	Labels []string
}

// IssueFilter selects issues; an empty field does not restrict.
type IssueFilter struct {
	State State
	// Label is one that the issue has.
	Label string
	// Marker is one that the body has, see [Mark].
	Marker string
}

// Matches reports whether an issue passes the filter's state and marker. Labels are the forge's to compare.
func (f IssueFilter) Matches(i Issue) bool {
	return (f.State == "" || i.State == f.State) && (f.Marker == "" || Marked(i.Body, f.Marker))
}

// NewIssue is an issue to be opened.
type NewIssue struct {
	Title string // required
	Body  string
	// Labels exist in the repository, see [Labels.EnsureLabel].
	Labels []string
}

// IssueEdit says what an issue should be; what is nil stays.
type IssueEdit struct {
	Title, Body *string
	// State is Open or Closed.
	State *State
}

// Empty reports whether the edit changes nothing.
func (e IssueEdit) Empty() bool { return e == IssueEdit{} }

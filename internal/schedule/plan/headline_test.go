package plan

import "testing"

func TestHeadlinesSayWhatChanges(t *testing.T) {
	change := func(op Op, target, clusterType string, keys ...string) Change {
		c := Change{Op: op, Target: target, Title: "shop/" + target, ClusterType: clusterType}
		for _, key := range keys {
			c.Config = append(c.Config, ConfigChange{Key: key})
		}
		return c
	}
	for _, tc := range []struct {
		name, subject, want string
		promotes            bool
		types               []ClusterType
		changes             []Change
	}{
		{name: "nothing", want: "dev: nothing changes"},
		{
			name: "a promoted commit", promotes: true, subject: "Move the west database (#12)", want: "dev: Move the west database (1 changed)",
			changes: []Change{change(Changed, "test", "large", "REGION")},
		},
		{name: "a promoted commit that changes no assignment", promotes: true, subject: "Say why", want: "dev: Say why"},
		{name: "a promoted commit without a message", promotes: true, want: "dev: promote main to 1234567"},
		{
			name: "a reference to somewhere else", promotes: true, subject: "Fix #3 for @ann", want: "dev: Fix #\u200b3 for @\u200bann (1 added)",
			changes: []Change{change(Added, "test", "large")},
		},
		{
			name: "a subject that explains nothing that changes", subject: "Say why", want: "dev: change REGION (2 changed)",
			changes: []Change{change(Changed, "test", "large", "REGION"), change(Changed, "load", "small", "REGION")},
		},
		{
			name: "many keys", want: "dev: change A, B and 2 more values (2 changed)",
			changes: []Change{change(Changed, "test", "large", "D", "A"), change(Changed, "load", "small", "B", "C")},
		},
		{
			name: "two keys", want: "dev: change A and B (1 changed)",
			changes: []Change{change(Changed, "test", "large", "A", "B")},
		},
		{
			name: "a target", want: "dev: add shop/test (2 added)",
			changes: []Change{change(Added, "test", "large"), change(Added, "test", "small"), change(Held, "load", "small")},
		},
		{name: "a target on a type", want: "dev: remove shop/test on large (1 removed)", changes: []Change{change(Removed, "test", "large")}},
		{
			name: "a cluster type", want: "dev: remove cluster type large (2 removed)", types: []ClusterType{{Name: "large", Op: Removed}},
			changes: []Change{change(Removed, "test", "large"), change(Removed, "load", "large")},
		},
		{
			name: "targets on a type", want: "dev: change targets on large (2 changed)",
			changes: []Change{change(Changed, "test", "large"), change(Changed, "load", "large")},
		},
		{
			name: "many things", want: "dev: 1 added, 1 removed",
			changes: []Change{change(Added, "test", "large"), change(Removed, "load", "small")},
		},
	} {
		p := Plan{Environment: "dev", Assignments: tc.changes, ClusterTypes: tc.types}
		for _, c := range tc.changes {
			p.Counts.Count(c.Op)
		}
		if tc.promotes {
			p.Promotion = &Promotion{To: "1234567890"}
		}
		if got := p.Headline(tc.subject); got != tc.want {
			t.Errorf("%s: got %q, want %q", tc.name, got, tc.want)
		}
	}
}

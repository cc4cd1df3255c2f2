package fleet

import "testing"

func TestRelativeURLs(t *testing.T) {
	for _, tt := range []struct{ repository, url, want string }{
		{"/fleet/control-plane", ".", "/fleet/control-plane"},
		{"/fleet/control-plane", "../gitops", "/fleet/gitops"},
		{"https://example.com/org/cp", "../gitops", "https://example.com/org/gitops"},
		{"https://example.com/org/cp.git", "./sub", "https://example.com/org/cp.git/sub"},
		{"git@example.com:org/cp", "../gitops", "git@example.com:org/gitops"},
		{"https://example.com/cp", ".", "https://example.com/cp"},
	} {
		got, err := JoinURL(tt.repository, tt.url)
		if err != nil || got != tt.want {
			t.Errorf("%q of %q: got %q and error %v, want %q", tt.url, tt.repository, got, err, tt.want)
		}
	}
	for _, tt := range []struct{ repository, url string }{
		{"https://example.com/org/cp", "../../.."},
		{"https://example.com/org/cp", "../../../other.com/x"},
		{"git@example.com:cp", "../../x"},
	} {
		if got, err := JoinURL(tt.repository, tt.url); err == nil {
			t.Errorf("%q of %q: got %q, want an error: it leads to another host", tt.url, tt.repository, got)
		}
	}
}

func TestIsLocal(t *testing.T) {
	for location, want := range map[string]bool{
		"/a": true, "a/b": true, "file:///a": true, "./a:b": true,
		"https://h/a": false, "h:a": false, "git@h:a/b": false, "ssh://h/a": false,
	} {
		if got := IsLocal(location); got != want {
			t.Errorf("%q: got %v", location, got)
		}
	}
}

package secret_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// hiding keeps a secret where fmt calls no methods.
type hiding struct{ token secret.Value }

func TestValueDoesNotPrint(t *testing.T) {
	v := secret.New("hunter2!")
	encoded, err := json.Marshal(map[string]any{"v": v})
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		fmt.Sprint(v), fmt.Sprintf("%s %q %v %+v %#v %x %d", v, v, v, v, v, v, v), string(encoded), v.String(),
		fmt.Sprintf("%+v", struct{ Token secret.Value }{v}),
		fmt.Sprintf("%v %+v %#v %s", hiding{v}, hiding{v}, &hiding{v}, []any{hiding{v}}),
	} {
		if strings.Contains(text, "hunter2") || strings.Contains(text, "68756e") {
			t.Errorf("printed %q", text)
		}
	}
}

func TestScrub(t *testing.T) {
	for _, tc := range []struct{ text, want string }{
		{"get https://me:p@ss@host/a?token=1: no", "get https://host/a no"},
		{"bad token s3cr et/x", "bad token ***"},
		{"bad token s3cr+et%2Fx", "bad token ***"},
		{"two\nlines\x1b[31m", "two lines [31m"},
		{"git@host:path", "git@host:path"},
		{strings.Repeat("é", 400), strings.Repeat("é", 300) + "..."},
	} {
		if got := secret.Scrub(tc.text, secret.New("s3cr et/x"), secret.New("abc")); got != tc.want {
			t.Errorf("Scrub(%q) = %q, want %q", tc.text, got, tc.want)
		}
	}
}

func TestRedact(t *testing.T) {
	for text, want := range map[string]string{
		"https://user:s3cr3t@host/path":                  "https://host/path",
		"https://s3cr3t@host/path":                       "https://host/path",
		"https://user:s3@cr3t@host/path":                 "https://host/path",
		"https://host/path?private_token=s3cr3t":         "https://host/path",
		"https://host/path#s3cr3t":                       "https://host/path",
		"user:s3cr3t@host:path":                          "host:path",
		"git@github.com:acme/shop":                       "git@github.com:acme/shop",
		"/a/b@c":                                         "/a/b@c",
		"https://host/path@v1":                           "https://host/path@v1",
		"mail: write to me@host":                         "mail: write to me@host",
		`Get "https://u:p@h/x?y=z": refused, see //u:p@`: `Get "https://h/x": refused, see //`,
	} {
		if got := secret.Redact(text); got != want {
			t.Errorf("Redact(%q) = %q, want %q", text, got, want)
		}
	}
}

// Text that a user decides about is not shortened without a hint.
func TestMask(t *testing.T) {
	for text, want := range map[string]string{
		"image: https://host/a?{x:y,privileged:true}": "image: https://host/a?***",
		"get https://me:p@ss@host/a#token twice":      "get https://***@host/a?*** twice",
		"user:s3cr3t@host:path":                       "***@host:path",
		"mail: write to me@host":                      "mail: write to me@host",
		"https://host/path":                           "https://host/path",
	} {
		if got := secret.Mask(text); got != want {
			t.Errorf("Mask(%q) = %q, want %q", text, got, want)
		}
	}
}

package receivepack

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var (
	one = strings.Repeat("1", 40)
	two = strings.Repeat("2", 40)
)

func packet(text string) string { return fmt.Sprintf("%04x%s", len(text)+4, text) }

func TestRead(t *testing.T) {
	for name, tc := range map[string]struct {
		text string
		want Request
		rest string
	}{
		"trying the door": {"0000", Request{}, ""},
		"two branches": {
			packet(one+" "+two+" refs/heads/main\x00report-status side-band-64k\n") + packet(Zero+" "+two+" refs/heads/a/b\n") + "0000PACK...",
			Request{
				[]Command{{one, two, "refs/heads/main"}, {Zero, two, "refs/heads/a/b"}},
				[]string{"report-status", "side-band-64k"},
			},
			"PACK...",
		},
		"a shallow clone": {
			packet("shallow "+one) + packet(one+" "+Zero+" refs/tags/v1\x00") + "0000",
			Request{[]Command{{one, Zero, "refs/tags/v1"}}, []string{}},
			"",
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := strings.NewReader(tc.text)
			got, err := Read(r)
			rest, _ := io.ReadAll(r)
			if diff := cmp.Diff(tc.want, got); err != nil || diff != "" || string(rest) != tc.rest {
				t.Errorf("rest %q, %v, %s", rest, err, diff)
			}
		})
	}
}

func TestReadRefuses(t *testing.T) {
	for _, text := range []string{
		"", "00", "zzzz", "0001", "0003", "0004", "fff1", "0010short", packet("hello") + "0000",
		packet(one + " " + two + " refs/heads/main"),
		packet(one+" "+two+" main") + "0000",
		packet(one+" "+two+" refs/heads/../main") + "0000",
		packet(one+" "+two[:39]+" refs/heads/main") + "0000",
		packet(strings.ToUpper("a"+one[1:])+" "+two+" refs/heads/main") + "0000",
		packet("push-cert\x00report-status") + "0000",
		strings.Repeat(packet(one+" "+two+" refs/heads/main"), MaxCommands+1) + "0000",
	} {
		if got, err := Read(strings.NewReader(text)); !errors.Is(err, ErrMalformed) {
			t.Errorf("%.60q: got %d commands, %v", text, len(got.Commands), err)
		}
	}
}

func TestValidRef(t *testing.T) {
	for _, name := range []string{"refs/heads/main", "refs/heads/a/b", "refs/heads/größe", "refs/heads/a@b", "refs/heads/-x", "refs/pull/1/head"} {
		if !ValidRef(name) {
			t.Errorf("%q is refused", name)
		}
	}
	for _, name := range []string{
		"", "main", "refs/", "refs/heads", "refs/heads/", "refs/heads//a", "refs/heads/a/", "refs/heads/.a", "refs/heads/a.lock", "refs/heads/a.lock/b",
		"refs/heads/a..b", "refs/heads/a b", "refs/heads/a\x00", "refs/heads/a\n", "refs/heads/a~1", "refs/heads/a^", "refs/heads/a:b", "refs/heads/*",
		"refs/heads/a\\b", "refs/heads/@{1}", "refs/heads/a.", "refs/../config", "refs/heads/../../config", "refs/heads/" + strings.Repeat("x", 1000),
	} {
		if ValidRef(name) {
			t.Errorf("%q is let through", name)
		}
	}
}

func TestRefuse(t *testing.T) {
	commands := []Command{{one, two, "refs/heads/main"}, {one, two, "refs/heads/fine"}}
	reasons := map[string]string{"refs/heads/main": "protected\nreally"}
	report := packet("unpack ok\n") + packet("ng refs/heads/main protected really\n") +
		packet("ng refs/heads/fine not done, because another reference was refused\n") + "0000"
	for name, tc := range map[string]struct {
		capabilities []string
		want         string
		understood   bool
	}{
		"side band": {[]string{"report-status", "side-band-64k"}, packet("\x02ask\n") + packet("\x01"+report) + "0000", true},
		"plain":     {[]string{"report-status-v2"}, report, true},
		"nothing":   {nil, "", false},
	} {
		var out strings.Builder
		understood, err := Request{commands, tc.capabilities}.Refuse(&out, reasons, "ask")
		if understood != tc.understood || err != nil || out.String() != tc.want {
			t.Errorf("%s: got %v, %v, %q", name, understood, err, out.String())
		}
	}
}

// Whatever the input, commands are safe to act on.
func FuzzRead(f *testing.F) {
	f.Add([]byte("0000"))
	f.Add([]byte(packet(one+" "+two+" refs/heads/main\x00report-status\n") + "0000PACK"))
	f.Add([]byte(packet("shallow "+one) + packet(Zero+" "+two+" refs/tags/a/b") + "0000"))
	f.Fuzz(func(t *testing.T, text []byte) {
		request, err := Read(strings.NewReader(string(text)))
		if err != nil {
			if !errors.Is(err, ErrMalformed) {
				t.Fatal(err)
			}
			return
		}
		for _, c := range request.Commands {
			if !ValidRef(c.Ref) || !isHash(c.Old) || !isHash(c.New) || strings.Contains(c.Ref, "..") || strings.HasPrefix(c.Ref, "/") {
				t.Errorf("command %+v", c)
			}
		}
	})
}

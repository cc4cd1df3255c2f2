package verify

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
)

var loopback = []string{"127.0.0.1"}

func asking(url string, timeout time.Duration) decide.RunCheck {
	http := &v1alpha1.HTTPVerification{URL: url}
	if timeout > 0 {
		http.Timeout = &metav1.Duration{Duration: timeout}
	}
	return decide.RunCheck{Environment: "dev", Check: decide.Check{Name: "smoke", Verification: v1alpha1.Verification{HTTP: http}}}
}

func running(timeout time.Duration, args ...string) decide.RunCheck {
	command := &v1alpha1.CommandVerification{Args: args, Timeout: &metav1.Duration{Duration: timeout}}
	return decide.RunCheck{
		Environment: "dev", Commit: "c0", Source: "c0", Revision: "r0",
		Check: decide.Check{Name: "smoke", Verification: v1alpha1.Verification{Command: command}},
	}
}

func TestAsking(t *testing.T) {
	elsewhere := httptest.NewServer(http.NotFoundHandler())
	defer elsewhere.Close()
	mux := http.NewServeMux()
	server := httptest.NewServer(mux)
	defer server.Close()
	mux.HandleFunc("/well", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "secret of the shop") })
	mux.HandleFunc("/ill", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusServiceUnavailable)
		fmt.Fprint(w, "no database\x1b[31m at postgres://shop:hunter2@db/shop\n"+strings.Repeat("x", 1<<20))
	})
	mux.HandleFunc("/slow", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	mux.Handle("/here", http.RedirectHandler("/well", http.StatusFound))
	mux.Handle("/away", http.RedirectHandler(elsewhere.URL, http.StatusFound))
	mux.HandleFunc("/round", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/round", http.StatusFound) })
	for name, tc := range map[string]struct{ url, output, wrong string }{
		"it is well":        {server.URL + "/well", "200 OK", ""},
		"moved on its host": {server.URL + "/here", "200 OK", ""},
		"it is ill":         {server.URL + "/ill", "503 Service Unavailable\nno database [31m at postgres://db/shop", "answers 503"},
		"moved elsewhere":   {server.URL + "/away", "", "which is elsewhere"},
		"moved for ever":    {server.URL + "/round", "", "more than 5 times"},
		"too slow":          {server.URL + "/slow", "", "did not answer in time"},
		"with a password":   {"http://u:hunter2@127.0.0.1/", "", "user or password"},
		"a file":            {"file:///etc/passwd", "", "not a URL that can be asked"},
		"nobody there":      {"http://127.0.0.1:1/", "", "refused"},
	} {
		t.Run(name, func(t *testing.T) {
			timeout := 5 * time.Minute
			if name == "too slow" {
				timeout = 50 * time.Millisecond
			}
			evidence, err := (&Runner{Hosts: loopback}).Run(t.Context(), asking(tc.url, timeout))
			output := evidence.Output
			if !strings.HasPrefix(output, tc.output) || tc.output == "" && output != "" || len(output) > maxOutput+100 {
				t.Errorf("output %.300q", output)
			}
			if got := fmt.Sprint(err); (tc.wrong == "") != (err == nil) || !strings.Contains(got, tc.wrong) || strings.Contains(got+output, "hunter2") {
				t.Errorf("error %v", err)
			}
		})
	}
}

// TestRefusedAddresses checks private addresses in all notations, and names that resolve to them.
func TestRefusedAddresses(t *testing.T) {
	r := &Runner{}
	for _, address := range []string{
		"127.0.0.1:80", "127.9.9.9:80", "[::1]:80", "0.0.0.0:80", "[::]:80", "169.254.169.254:80", "[fe80::1%eth0]:80", "[::ffff:169.254.169.254]:80",
		"[::ffff:127.0.0.1]:80", "[fd00:ec2::254]:80", "100.100.100.200:80", "168.63.129.16:80", "224.0.0.1:80", "[64:ff9b::a9fe:a9fe]:80", "255.255.255.255:80", "10.0.0.1:443", "192.168.1.1:80",
		"172.16.0.1:80", "100.64.1.1:80", "[fc00::1]:80", "[64:ff9b::7f00:1]:80", "strange",
	} {
		if err := r.Permit("shop.example", address); err == nil {
			t.Errorf("%s may be asked", address)
		}
	}
	for _, address := range []string{"[2001:db8::1]:443", "93.184.216.34:443"} {
		if err := r.Permit("shop.example", address); err != nil {
			t.Errorf("%s: %v", address, err)
		}
	}
	listed := &Runner{Hosts: []string{"Smoke.internal", "169.254.169.254"}}
	for address, ok := range map[string]bool{
		"10.0.0.1:443": true, "127.0.0.1:80": true, "169.254.169.254:80": true, "169.254.169.253:80": false, "100.100.100.200:80": false, "224.0.0.1:80": false,
	} {
		if err := listed.Permit("smoke.internal", address); (err == nil) != ok {
			t.Errorf("a host that is listed, at %s: %v", address, err)
		}
	}
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	for _, url := range []string{server.URL, strings.Replace(server.URL, "127.0.0.1", "localhost", 1)} {
		if _, err := r.Run(t.Context(), asking(url, 0)); err == nil || !strings.Contains(err.Error(), "verify.hosts") {
			t.Errorf("%s: %v", url, err)
		}
	}
}

func TestRunningPrograms(t *testing.T) {
	t.Setenv("KALYPSO_TOKEN", "hunter2")
	r := &Runner{Programs: []string{"/bin/sh", "/no/such/program", "sh"}, Temp: t.TempDir()}
	for name, tc := range map[string]struct {
		args          []string
		output, wrong string
	}{
		"it is well":        {[]string{"/bin/sh", "-c", "echo fine"}, "fine", ""},
		"it fails":          {[]string{"/bin/sh", "-c", "echo one; echo two >&2; exit 7"}, "one\ntwo", "sh ended with exit status 7: two"},
		"what it finds":     {[]string{"/bin/sh", "-c", "env | grep -v '^_=\\|^PWD=\\|^HOME=\\|^TMPDIR=\\|^SHLVL=\\|^OLDPWD=' | sort; ls -A"}, "KALYPSO_COMMIT=c0\nKALYPSO_ENVIRONMENT=dev\nKALYPSO_REVISION=r0\nPATH=" + defaultPath, ""},
		"it does not end":   {[]string{"/bin/sh", "-c", "echo begun; sleep 60"}, "begun", "sh did not end in time"},
		"it is not allowed": {[]string{"/bin/cat", "/etc/passwd"}, "", `"/bin/cat" is not one that the server allows`},
		"it is not there":   {[]string{"/no/such/program"}, "", "run program"},
		"it is relative":    {[]string{"sh"}, "", "whole path"},
		"it is nothing":     {nil, "", "name a program"},
		"it says too much":  {[]string{"/bin/sh", "-c", "i=0; while [ $i -lt 2000 ]; do echo line $i; i=$((i+1)); done"}, "...", ""},
	} {
		t.Run(name, func(t *testing.T) {
			timeout := 2 * time.Minute
			if name == "it does not end" {
				timeout = 300 * time.Millisecond
			}
			evidence, err := r.Run(t.Context(), running(timeout, tc.args...))
			for ; evidence.Output == "" && tc.output != "" && timeout < time.Minute; timeout *= 2 { // it had not started
				evidence, err = r.Run(t.Context(), running(2*timeout, tc.args...))
			}
			output := evidence.Output
			if output != tc.output && (tc.output != "..." || !strings.HasPrefix(output, "...\nline ") || !strings.HasSuffix(output, "line 1999")) {
				t.Errorf("output %q", output)
			}
			if (tc.wrong == "") != (err == nil) || !strings.Contains(fmt.Sprint(err), tc.wrong) {
				t.Errorf("error %v", err)
			}
		})
	}
	if left, err := os.ReadDir(r.Temp); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// TestChildProcessesEnd checks that no process is left after a program ends or is stopped.
func TestChildProcessesEnd(t *testing.T) {
	const background = "(while sleep 0.1; do echo still here >> $0; done) & "
	for name, script := range map[string]string{
		"it ended": background + "until [ -s $0 ]; do sleep 0.1; done; exit 0", "it was ended": background + "sleep 300",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "said")
			timeout := time.Second
			if name == "it ended" {
				timeout = time.Minute
			}
			begun := time.Now()
			_, _ = (&Runner{Programs: []string{"/bin/sh"}}).Run(t.Context(), running(timeout, "/bin/sh", "-c", script, file))
			if took := time.Since(begun); took > 2*time.Minute {
				t.Errorf("it took %s", took)
			}
			before, _ := os.ReadFile(file)
			time.Sleep(time.Second)
			if after, _ := os.ReadFile(file); len(after) > len(before) {
				t.Errorf("something went on in the background, and said\n%s", after[len(before):])
			}
		})
	}
}

func TestCancelling(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(100*time.Millisecond, cancel)
	if _, err := (&Runner{Programs: []string{"/bin/sleep"}}).Run(ctx, running(time.Minute, "/bin/sleep", "60")); err == nil || ctx.Err() == nil {
		t.Errorf("error %v", err)
	}
}

package verify

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
	"github.com/kalypso-io/kalypso/internal/promote/measure"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

func expecting(t *testing.T, url, expression string) decide.RunCheck {
	t.Helper()
	check := asking(url, 10*time.Second)
	var err error
	if check.Check.Expression, err = measure.ParseHTTP(expression); err != nil {
		t.Fatal(err)
	}
	return check
}

func TestExpressionsAboutResponses(t *testing.T) {
	mux := http.NewServeMux()
	server := httptest.NewServer(mux)
	defer server.Close()
	mux.HandleFunc("/stats", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Version", "7")
		fmt.Fprint(w, `{"errors": 3, "at": "https://u:hunter2@shop/"}`)
	})
	mux.HandleFunc("/busy", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTooManyRequests) })
	mux.HandleFunc("/large", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"errors": 0, "rest": "`+strings.Repeat("x", maxAnswer)+`"}`)
	})
	for name, tc := range map[string]struct{ path, expression, output, wrong string }{
		"it holds":            {"/stats", "json.errors < 5 && headers['x-version'] == '7'", "200 OK", ""},
		"it does not":         {"/stats", "json.errors < 3", "200 OK\n{\"errors\": 3, \"at\": \"https://shop/\"}", "/stats answers 200 OK, and json.errors < 3 is false"},
		"an expected error":   {"/busy", "status == 429", "429 Too Many Requests", ""},
		"an answer too large": {"/large", "json.errors == 0", "200 OK\n", "larger than"},
	} {
		evidence, err := (&Runner{Hosts: loopback}).Run(t.Context(), expecting(t, server.URL+tc.path, tc.expression))
		if !strings.HasPrefix(evidence.Output, tc.output) || tc.wrong == "" && evidence.Output != tc.output || !strings.HasPrefix(evidence.Output, evidence.Value) {
			t.Errorf("%s: output %.200q, value %q", name, evidence.Output, evidence.Value)
		}
		if got := fmt.Sprint(err); (tc.wrong == "") != (err == nil) || !strings.Contains(got, tc.wrong) || strings.Contains(got, "hunter2") {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// prometheusServer answers queries as https://prometheus.io/docs/prometheus/latest/querying/api/ describes it.
func prometheusServer(t *testing.T, authorization string) *httptest.Server {
	elsewhere := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(elsewhere.Close)
	answers := map[string]string{
		"low":    `{"resultType":"vector","result":[{"metric":{"job":"shop"},"value":[1700000000,"0.004"]}]}`,
		"two":    `{"resultType":"vector","result":[{"metric":{"job":"shop"},"value":[1700000000,"0.004"]},{"metric":{"job":"web"},"value":[1700000000,"0.2"]}]}`,
		"none":   `{"resultType":"vector","result":[]}`,
		"nan":    `{"resultType":"vector","result":[{"metric":{},"value":[1700000000,"NaN"]}]}`,
		"one":    `{"resultType":"scalar","result":[1700000000,"1"]}`,
		"matrix": `{"resultType":"matrix","result":[]}`,
		"mine":   `{"resultType":"string","result":[1700000000,"text"]}`,
		"large":  `{"resultType":"vector","result":[{"metric":{"job":"` + strings.Repeat("x", 2*maxAnswer) + `"},"value":[1700000000,"1"]}]}`,
		`errors{commit="c0",env="prod",ring="canary"}`: `{"resultType":"scalar","result":[1700000000,"0"]}`,
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		query := r.FormValue("query")
		switch answer, known := answers[query]; {
		case r.Header.Get("Authorization") != authorization:
			w.WriteHeader(http.StatusUnauthorized)
			fmt.Fprintf(w, "this is not the token: %s", r.Header.Get("Authorization"))
		case r.URL.Path != "/prom/api/v1/query":
			http.NotFound(w, r)
		case query == "slow":
			<-r.Context().Done()
		case query == "away":
			http.Redirect(w, r, elsewhere.URL, http.StatusTemporaryRedirect)
		case !known:
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprint(w, `{"status":"error","errorType":"bad_data","error":"1:1: parse error: https://u:hunter2@shop/"}`)
		default:
			fmt.Fprintf(w, `{"status":"success","data":%s}`, answer)
		}
	}))
	t.Cleanup(server.Close)
	return server
}

func querying(t *testing.T, url, query, expression string) decide.RunCheck {
	t.Helper()
	e, err := measure.ParsePrometheus(expression, false)
	if err != nil {
		t.Fatal(err)
	}
	p := &v1alpha1.PrometheusVerification{URL: url, Query: query, Expression: expression, Timeout: &metav1.Duration{Duration: 5 * time.Minute}}
	if query == "slow" {
		p.Timeout.Duration = 50 * time.Millisecond
	}
	return decide.RunCheck{
		Environment: "prod/canary.2", Commit: "r0", Source: "c0", Revision: "r0",
		Check: decide.Check{Name: "errors", Expression: e, Verification: v1alpha1.Verification{Prometheus: p}},
	}
}

func TestQueries(t *testing.T) {
	server := prometheusServer(t, "")
	for name, tc := range map[string]struct{ query, expression, value, wrong string }{
		"it is low":        {"low", "result < 0.01", "0.004", ""},
		"it is high":       {"low", "result < 0.001", "0.004", "the result is 0.004: result < 0.001 is false"},
		"two":              {"two", "results.exists(r, r.labels['job'] == 'web' && r.value > 0.1)", "0.004, 0.2", ""},
		"two, as one":      {"two", "result < 1", "0.004, 0.2", "the answer has 2 values"},
		"a scalar":         {"one", "result == 1.0", "1", ""},
		"placeholders":     {`errors{commit="{{.Commit}}",env="{{.Environment}}",ring="{{.Ring}}"}`, "result < 1", "0", ""},
		"nothing is found": {"none", "true", "", "the answer is empty: the query found no data"},
		"not a number":     {"nan", "true", "NaN", "no data to calculate"},
		"a matrix":         {"matrix", "true", "", "the answer is a matrix; want"},
		"a text":           {"mine", "true", "", `unexpected value type`},
		"a wrong query":    {"rate(", "true", "", "/prom/: 1:1: parse error"},
		"too large":        {"large", "true", "", "the answer is too large"},
		"too slow":         {"slow", "true", "", "did not answer in time"},
		"leads elsewhere":  {"away", "true", "", "which is elsewhere"},
	} {
		t.Run(name, func(t *testing.T) {
			evidence, err := (&Runner{Hosts: loopback}).Run(t.Context(), querying(t, server.URL+"/prom/", tc.query, tc.expression))
			if got := fmt.Sprint(err); (tc.wrong == "") != (err == nil) || !strings.Contains(got, tc.wrong) || strings.Contains(got, "hunter2") || evidence.Value != tc.value {
				t.Errorf("value %q, error %v", evidence.Value, err)
			}
		})
	}
	for url, wrong := range map[string]string{
		server.URL:           "verify.hosts",
		"http://u:p@shop/":   "user or password",
		"file:///etc/passwd": "not a URL that can be asked",
	} {
		if _, err := (&Runner{}).Run(t.Context(), querying(t, url, "low", "true")); err == nil || !strings.Contains(err.Error(), wrong) {
			t.Errorf("%s: %v", url, err)
		}
	}
}

// TestCredentials sends the operator's credential to its host only, and shows it nowhere.
func TestCredentials(t *testing.T) {
	token := "correct-horse-battery"
	server := prometheusServer(t, "Bearer "+token)
	host := strings.TrimPrefix(server.URL, "http://")
	with := func(c ...Credential) *Runner { return &Runner{Hosts: append(loopback, "shop.example"), Credentials: c} }
	right := Credential{Host: host, Token: secret.New(token)}
	for name, tc := range map[string]struct {
		runner *Runner
		wrong  string
	}{
		"the right one":    {with(right), ""},
		"none":             {with(), "401"},
		"of another host":  {with(Credential{Host: "127.0.0.1:1", Token: secret.New(token)}), "401"},
		"a wrong one":      {with(Credential{Host: host, Token: secret.New("wrong-" + token)}), "401"},
		"a user":           {with(Credential{Host: host, User: secret.New("anna"), Password: secret.New("wrong-" + token)}), "401"},
		"not in the clear": {with(Credential{Host: "shop.example", Token: secret.New(token)}), "must not be sent by http"},
	} {
		for kind, check := range map[string]decide.RunCheck{
			"query": querying(t, server.URL+"/prom", "low", "result < 0.01"), "request": asking(server.URL+"/prom/api/v1/query?query=low", 0),
		} {
			if name == "not in the clear" {
				check = asking("http://shop.example/", 0)
			}
			evidence, err := tc.runner.Run(t.Context(), check)
			got := fmt.Sprint(err, evidence)
			if (tc.wrong == "") != (err == nil) || !strings.Contains(got, tc.wrong) {
				t.Errorf("%s, %s: %v", kind, name, err)
			}
			if len(tc.runner.Credentials) > 0 && strings.Contains(got, token) {
				t.Errorf("%s, %s: the credential is shown: %s", kind, name, got)
			}
		}
	}
}

// TestCredentialsThatServersRepeat: a server, or a proxy in front of it, repeats the header of a request in its answer. Neither the evidence
// nor the error shows it, wherever it is: both are recorded, and shown on the forge.
func TestCredentialsThatServersRepeat(t *testing.T) {
	const token, password = "correct-horse-battery/\"<staple>", "hunter2-and-more"
	said := func(w http.ResponseWriter, status int, contentType, format string, r *http.Request) {
		w.Header().Set("Content-Type", contentType)
		w.WriteHeader(status)
		repeated, _ := json.Marshal(strings.Repeat("x", 270) + " " + r.Header.Get("Authorization"))
		fmt.Fprintf(w, format, repeated)
	}
	const failed = `{"status":"error","errorType":"bad_data","error":%s}`
	answers := map[string]http.HandlerFunc{
		"/cut": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "100000")
			said(w, http.StatusBadRequest, "application/json", failed, r)
		},
		"/text": func(w http.ResponseWriter, r *http.Request) { said(w, http.StatusUnauthorized, "text/plain", "%s", r) },
		"/data": func(w http.ResponseWriter, r *http.Request) {
			said(w, http.StatusOK, "application/json", `{"status":"success","data":%s}`, r)
		},
		"/broken": func(w http.ResponseWriter, r *http.Request) {
			said(w, http.StatusOK, "application/json", `{"status":%s`, r)
		},
		"/warning": func(w http.ResponseWriter, r *http.Request) {
			said(w, http.StatusOK, "application/json", `{"status":"error","error":%s}`, r)
		},
		"/redirect": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://elsewhere.example/"+url.PathEscape(r.Header.Get("Authorization")), http.StatusFound)
		},
		"/query": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://elsewhere.example/?"+url.Values{"a": {r.Header.Get("Authorization")}}.Encode(), http.StatusFound)
		},
		"/label": func(w http.ResponseWriter, r *http.Request) {
			said(w, http.StatusOK, "application/json", `{"status":"success","data":{"resultType":"vector","result":[{"metric":{"a":%s},"value":[1,"1"]}]}}`, r)
		},
		"/header": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("X-Repeated", r.Header.Get("Authorization"))
			said(w, http.StatusBadRequest, "application/json", failed, r)
		},
	}
	for _, status := range []int{400, 401, 403, 404, 422, 500, 502, 503} {
		answers[fmt.Sprintf("/%d", status)] = func(w http.ResponseWriter, r *http.Request) { said(w, status, "application/json", failed, r) }
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for path, answer := range answers {
			if strings.HasPrefix(r.URL.Path, path+"/") || r.URL.Path == path {
				answer(w, r)
			}
		}
	}))
	defer server.Close()
	host := strings.TrimPrefix(server.URL, "http://")
	for name, c := range map[string]Credential{
		"token": {Host: host, Token: secret.New(token)}, "user": {Host: host, User: secret.New("operator"), Password: secret.New(password)},
	} {
		runner := &Runner{Hosts: loopback, Credentials: []Credential{c}}
		for path := range answers {
			for kind, check := range map[string]decide.RunCheck{
				"query":      querying(t, server.URL+path, "up", "result < 0.5"),
				"request":    asking(server.URL+path, 0),
				"expression": expecting(t, server.URL+path, "headers['x-repeated'] == 'a' && json.error == 'b'"),
			} {
				evidence, err := runner.Run(t.Context(), check)
				got := fmt.Sprintf("%v %+v", err, evidence)
				pair := base64.StdEncoding.EncodeToString([]byte("operator:" + password))
				for _, s := range []string{"correct-horse", password, pair[:12]} {
					if strings.Contains(got, s) {
						t.Errorf("%s, %s, %s: the credential is shown: %s", name, path, kind, got)
					}
				}
			}
		}
		if _, err := runner.Post(t.Context(), server.URL+"/400", c.Token, []byte("{}"), 1<<20); err == nil || strings.Contains(err.Error(), "correct-horse") {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

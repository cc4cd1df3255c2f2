// Package resourcegraphtest has a server that answers like Microsoft Entra ID and Azure Resource Graph, for tests.
//
// It follows the published API: tokens for client credentials with a secret or an assertion, queries by POST with subscriptions or
// management groups, pages with skip tokens, and the headers of quotas.
package resourcegraphtest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// The identity that the server knows.
const (
	Tenant       = "11111111-1111-1111-1111-111111111111"
	Client       = "22222222-2222-2222-2222-222222222222"
	Subscription = "33333333-3333-3333-3333-333333333333"
	Secret       = "hunter2-of-the-client"
	Assertion    = "eyJ.hunter2-of-the-workload.sig"
)

// Server is the fake. URL is the address of both services.
type Server struct {
	URL string

	mu sync.Mutex
	// rows are the objects of the table, as JSON.
	rows []string
	// PageSize is the size of a page if it is smaller than what is asked for.
	pageSize int
	// valid are the tokens that it accepts, issued how many it gave out.
	valid   map[string]bool
	issued  int
	queries int
	// intercept may answer a query before the server does.
	intercept func(w http.ResponseWriter, r *http.Request) bool
}

// New starts a server that ends with the test.
func New(tb testing.TB) *Server {
	tb.Helper()
	s := &Server{pageSize: 1000, valid: map[string]bool{}}
	web := httptest.NewServer(http.HandlerFunc(s.serve))
	tb.Cleanup(web.Close)
	s.URL = web.URL
	return s
}

// SetRows replaces the objects of the table.
func (s *Server) SetRows(rows ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rows = slices.Clone(rows)
}

// SetPageSize limits pages.
func (s *Server) SetPageSize(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pageSize = n
}

// Intercept lets a function answer queries that have a valid token. It returns false to leave the answer to the server.
func (s *Server) Intercept(f func(w http.ResponseWriter, r *http.Request) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.intercept = f
}

// ExpireTokens ends all tokens.
func (s *Server) ExpireTokens() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.valid)
}

// Counts returns how many tokens were issued, and how many queries had a valid one.
func (s *Server) Counts() (tokens, queries int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.issued, s.queries
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	switch r.Method + " " + r.URL.Path {
	case "POST /" + Tenant + "/oauth2/v2.0/token":
		s.token(w, r)
	case "POST /providers/Microsoft.ResourceGraph/resources":
		s.query(w, r)
	default:
		fail(w, http.StatusNotFound, "NotFound")
	}
}

func (s *Server) token(w http.ResponseWriter, r *http.Request) {
	assertion := r.FormValue("client_assertion_type") == "urn:ietf:params:oauth:client-assertion-type:jwt-bearer" && r.FormValue("client_assertion") == Assertion
	switch {
	case r.FormValue("grant_type") != "client_credentials" || r.FormValue("scope") != s.URL+"/.default" || r.FormValue("client_id") != Client:
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprintf(w, `{"error":"invalid_request","error_description":"AADSTS90014: a field is missing. Trace ID: 1"}`)
	case !assertion && r.FormValue("client_secret") != Secret:
		w.WriteHeader(http.StatusUnauthorized)
		fmt.Fprintf(w, `{"error":"invalid_client","error_description":"AADSTS7000215: Invalid client secret provided: %s"}`, r.FormValue("client_secret"))
	default:
		s.mu.Lock()
		s.issued++
		token := "access-hunter2-" + strconv.Itoa(s.issued)
		s.valid[token] = true
		s.mu.Unlock()
		fmt.Fprintf(w, `{"token_type":"Bearer","expires_in":3599,"ext_expires_in":3599,"access_token":%q}`, token)
	}
}

func (s *Server) query(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.valid[strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")] {
		fail(w, http.StatusUnauthorized, "ExpiredAuthenticationToken")
		return
	}
	s.queries++
	if s.intercept != nil && s.intercept(w, r) {
		return
	}
	var q struct {
		Subscriptions    []string `json:"subscriptions"`
		ManagementGroups []string `json:"managementGroups"`
		Query            string   `json:"query"`
		Options          struct {
			Top          int    `json:"$top"`
			SkipToken    string `json:"$skipToken"`
			ResultFormat string `json:"resultFormat"`
		} `json:"options"`
	}
	err := json.NewDecoder(r.Body).Decode(&q)
	if err != nil || r.URL.Query().Get("api-version") == "" || q.Options.ResultFormat != "objectArray" || !strings.HasPrefix(q.Query, "kubernetesconfigurationresources ") {
		fail(w, http.StatusBadRequest, "BadRequest")
		return
	}
	if !slices.Contains(q.Subscriptions, Subscription) && len(q.ManagementGroups) == 0 {
		fail(w, http.StatusForbidden, "AccessDenied")
		return
	}
	from, _ := strconv.Atoi(strings.TrimPrefix(q.Options.SkipToken, "after-"))
	to := min(from+min(q.Options.Top, s.pageSize), len(s.rows))
	rows := s.rows[min(from, to):to]
	next := ""
	if to < len(s.rows) {
		next = fmt.Sprintf(`,"$skipToken":"after-%d"`, to)
	}
	w.Header().Set("X-Ms-User-Quota-Remaining", "14")
	w.Header().Set("X-Ms-User-Quota-Resets-After", "00:00:05")
	fmt.Fprintf(w, `{"totalRecords":%d,"count":%d,"data":[%s],"facets":[],"resultTruncated":"false"%s}`, len(s.rows), len(rows), strings.Join(rows, ","), next)
}

func fail(w http.ResponseWriter, status int, code string) {
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"error":{"code":%q,"message":"refused; Authorization: Bearer access-hunter2"}}`, code)
}

// ClusterID returns the resource ID of a connected cluster.
func ClusterID(name string) string {
	return "/subscriptions/" + Subscription + "/resourceGroups/Fleet/providers/Microsoft.Kubernetes/connectedClusters/" + name
}

// Platform returns the configuration "platform" of a connected cluster, which applied a commit of a branch from a folder.
func Platform(cluster, repository, branch, folder, commit, updated string) string {
	return fmt.Sprintf(`{"id":%q,"properties":{"namespace":"flux-system","sourceKind":"GitRepository","suspend":false,"complianceState":"Compliant",
"gitRepository":{"url":%q,"repositoryRef":{"branch":%q,"tag":null,"semver":null,"commit":null}},
"kustomizations":{"fleet":{"name":"fleet","path":%q,"prune":true}},
"sourceSyncedCommitId":"%s@sha1:%s","sourceUpdatedAt":%q,"statusUpdatedAt":%q,
"statuses":[
{"kind":"GitRepository","name":"platform","namespace":"flux-system","complianceState":"Compliant","appliedBy":null,"statusConditions":[
{"type":"Ready","status":"True","reason":"Succeeded","message":"stored artifact for revision '%s@sha1:%s'","lastTransitionTime":%q}]},
{"kind":"Kustomization","name":"platform-fleet","namespace":"flux-system","complianceState":"Compliant","appliedBy":null,"statusConditions":[
{"type":"Ready","status":"True","reason":"ReconciliationSucceeded","message":"Applied revision: %s@sha1:%s","lastTransitionTime":%q}]}]}}`,
		ClusterID(cluster)+"/providers/Microsoft.KubernetesConfiguration/fluxConfigurations/platform", repository, branch, folder,
		branch, commit, updated, updated, branch, commit, updated, branch, commit, updated)
}

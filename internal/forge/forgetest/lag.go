package forgetest

import (
	"context"
	"net/http"
	"net/http/httptest"
)

// lag is the state of late reads. Forges answer reads from copies that follow writes with a delay.
type lag struct {
	times int
	known map[string]*earlier
}

// earlier is a read that was sent, and the answer that it gets while it is late.
type earlier struct {
	request *http.Request
	answer  *httptest.ResponseRecorder
	left    int
}

// serve serves a request, with reads that are late.
func (f *Faults) serve(w http.ResponseWriter, r *http.Request, next http.Handler) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.late.times == 0 {
		f.mu.Unlock()
		defer f.mu.Lock()
		next.ServeHTTP(w, r)
		return
	}
	if r.Method == http.MethodGet {
		f.late.read(w, r, next)
		return
	}
	for _, e := range f.late.known {
		if e.left == 0 {
			e.answer, e.left = answerOf(e.request, next), f.late.times
		}
	}
	next.ServeHTTP(w, r)
}

func (l *lag) read(w http.ResponseWriter, r *http.Request, next http.Handler) {
	key := r.Header.Get("Authorization") + r.Header.Get("Private-Token") + " " + r.URL.String()
	e := l.known[key]
	if e == nil {
		e = &earlier{request: r.Clone(context.WithoutCancel(r.Context()))}
		l.known[key] = e
	}
	answer := e.answer
	if e.left > 0 {
		e.left--
	} else {
		answer = answerOf(r, next)
	}
	for name, values := range answer.Header() {
		w.Header()[name] = values
	}
	w.WriteHeader(answer.Code)
	_, _ = w.Write(answer.Body.Bytes())
}

func answerOf(r *http.Request, next http.Handler) *httptest.ResponseRecorder {
	answer := httptest.NewRecorder()
	r = r.Clone(r.Context())
	r.Body = http.NoBody
	next.ServeHTTP(answer, r)
	return answer
}

package local

import "net/http"

func newPages(f *Forge) http.Handler { return http.NotFoundHandler() }

package embedded

import "testing"

// Sweep cleans up once, as Run does from time to time.
func Sweep(t *testing.T, s *Registry) {
	t.Helper()
	if err := s.sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
}

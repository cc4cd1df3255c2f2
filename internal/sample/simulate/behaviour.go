package simulate

import "fmt"

// Mode says how a cluster misbehaves.
type Mode string

// The modes. A cluster recovers when it is set to Healthy.
const (
	Healthy Mode = "healthy"
	// Failing clusters refuse what their reconcilers apply, and keep what was applied before.
	Failing Mode = "fail"
	// Offline clusters neither pull nor report.
	Offline Mode = "offline"
	// Slow clusters do everything late.
	Slow Mode = "slow"
)

// Behaviour configures how a cluster misbehaves.
type Behaviour struct {
	// Mode defaults to Healthy.
	Mode Mode `json:"mode"`
	// Only limits Failing to the reconcilers of one workload or target, or to the reconciler of that name.
	// Empty means all reconcilers.
	Only string `json:"only,omitempty"`
	// Lag is the factor by which a Slow cluster is slower. Default: 10.
	Lag float64 `json:"lag,omitempty"`
}

// ParseMode parses a mode; "recover" means Healthy.
func ParseMode(text string) (Mode, error) {
	switch mode := Mode(text); mode {
	case Healthy, Failing, Offline, Slow:
		return mode, nil
	case "recover":
		return Healthy, nil
	}
	return "", fmt.Errorf("unknown mode %q: want fail, offline, slow or recover", text)
}

// maxLag keeps a slow cluster from never finishing.
const maxLag = 1000

func (b Behaviour) check() error {
	if _, err := ParseMode(string(b.Mode)); err != nil {
		return err
	}
	if b.Lag < 0 || b.Lag > maxLag {
		return fmt.Errorf("lag %v: want a number from 1 to %d", b.Lag, maxLag)
	}
	return nil
}

// lag returns the factor by which everything takes longer.
func (b Behaviour) lag() float64 {
	switch {
	case b.Mode != Slow:
		return 1
	case b.Lag == 0:
		return 10
	}
	return max(1, b.Lag)
}

// set changes the behaviour. Reconcilers that failed, or should fail now, try again at once.
func (m *machine) set(b Behaviour) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.behaviour.Mode == Failing || b.Mode == Failing {
		m.epoch++
	}
	m.behaviour, m.woken, m.stale = b, true, true
	// An attempt that started slowly can end at normal speed.
	soon := m.now.Add(m.lagging(m.config.Delay.Most))
	for _, w := range m.works {
		if w.attempt != nil && w.attempt.until.After(soon) {
			w.attempt.until = soon
		}
	}
}

// refresh makes a cluster poll its sources.
func (m *machine) refresh() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.woken, m.stale = true, true
}

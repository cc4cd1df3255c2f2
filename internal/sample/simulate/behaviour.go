package simulate

import "fmt"

// Mode is what is wrong with a cluster.
type Mode string

// The modes. A cluster recovers when it is set to Healthy.
const (
	Healthy Mode = "healthy"
	// Failing clusters refuse what their reconcilers apply. What was applied before stays.
	Failing Mode = "fail"
	// Offline clusters neither follow Git nor report.
	Offline Mode = "offline"
	// Slow clusters do everything, later.
	Slow Mode = "slow"
)

// Behaviour is how a cluster does.
type Behaviour struct {
	// Mode is what is wrong; empty stands for Healthy.
	Mode Mode `json:"mode"`
	// Only limits Failing to the reconcilers of one workload or deployment target, or to the reconciler of that name.
	// Empty means all of them.
	Only string `json:"only,omitempty"`
	// Lag is how many times longer a Slow cluster takes. Default: 10.
	Lag float64 `json:"lag,omitempty"`
}

// ParseMode reads a mode as people type it; "recover" is Healthy.
func ParseMode(text string) (Mode, error) {
	switch mode := Mode(text); mode {
	case Healthy, Failing, Offline, Slow:
		return mode, nil
	case "recover":
		return Healthy, nil
	}
	return "", fmt.Errorf("%q is nothing that a simulated cluster does: want fail, offline, slow or recover", text)
}

// maxLag keeps a slow cluster from standing still for ever.
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

// lag is the factor by which everything takes longer.
func (b Behaviour) lag() float64 {
	switch {
	case b.Mode != Slow:
		return 1
	case b.Lag == 0:
		return 10
	}
	return max(1, b.Lag)
}

// set changes how a cluster does. What failed, or is to fail, is tried again at once.
func (m *machine) set(b Behaviour) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.behaviour.Mode == Failing || b.Mode == Failing {
		m.epoch++
	}
	m.behaviour, m.woken, m.stale = b, true, true
	// What began slowly does not have to end so.
	soon := m.now.Add(m.lagging(m.config.Delay.Most))
	for _, w := range m.works {
		if w.attempt != nil && w.attempt.until.After(soon) {
			w.attempt.until = soon
		}
	}
}

// refresh lets a cluster look at its sources.
func (m *machine) refresh() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.woken, m.stale = true, true
}

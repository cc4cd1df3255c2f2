package engine

import (
	"errors"
	"fmt"
	"text/template"

	"github.com/kalypso-io/kalypso/internal/chart"
	"github.com/kalypso-io/kalypso/internal/chart/meter"
)

// workMeter counts the work of the templates of one target. It is used by one goroutine.
type workMeter struct {
	left    int
	nesting int
	// values counts the work of functions.
	values meter.Meter
	// exceeded is the limit that was reached. The engine wraps it into a less precise text.
	exceeded error
}

func newMeter() *workMeter { return &workMeter{left: maxWork, values: newValues()} }

// functions returns the guards, which guarded templates call.
func (m *workMeter) functions() template.FuncMap {
	return template.FuncMap{guardStep: m.step, guardEnter: m.enter, guardLeave: m.leave, guardText: m.text}
}

// The cost besides the length of the text: of a run of a loop body, of a template, and of a text for tpl,
// for each of which Helm copies all templates of the chart.
const (
	costStep  = 32
	costEnter = 256
	costText  = 8192
)

// step counts a run of a loop body with a length in bytes.
func (m *workMeter) step(length int) (string, error) { return m.spend(length + costStep) }

func (m *workMeter) spend(cost int) (string, error) {
	m.left -= cost
	if m.left < 0 {
		return "", m.fail(fmt.Errorf("the templates do more than %d MiB of work: look for an endless loop, or one over too much", maxWork>>20))
	}
	return "", nil
}

// enter counts a run of a template.
func (m *workMeter) enter(length int) (string, error) {
	m.nesting++
	if m.nesting > maxCalls {
		return "", m.fail(fmt.Errorf("templates call each other more than %d levels deep: one of them calls itself without end", maxCalls))
	}
	return m.spend(length + costEnter)
}

func (m *workMeter) leave() string {
	m.nesting--
	return ""
}

// text guards a text that tpl executes. It counts as a separate template even if it only calls tpl.
func (m *workMeter) text(text string) (string, error) {
	if len(text) > chart.MaxSize {
		return "", m.fail(errors.New("a text for tpl is too large"))
	}
	if _, err := m.spend(len(text) + costText); err != nil {
		return "", err
	}
	guarded, err := guard(text)
	if err != nil {
		return "", m.fail(err)
	}
	return guarded, nil
}

func (m *workMeter) fail(err error) error {
	if m.exceeded == nil {
		m.exceeded = err
	}
	return err
}

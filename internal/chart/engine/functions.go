package engine

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"text/template"
	"time"

	"github.com/Masterminds/sprig/v3"

	"github.com/kalypso-io/kalypso/internal/chart"
)

// readsClock is the reason for leaving out a function.
const readsClock = "it depends on the clock, and the same commit must give the same manifests; set the value in values.yaml"

// overrides returns the functions that differ from Helm's: those that depend on the machine or on
// the order of maps, and those that could build unlimited values in one call. See also [chance].
func overrides() template.FuncMap {
	return template.FuncMap{
		"date": dateUTC, "htmlDate": func(date any) (string, error) { return dateUTC(time.DateOnly, date) },
		"dateInZone": dateInZone, "date_in_zone": dateInZone,
		"htmlDateInZone": func(date any, zone string) (string, error) { return dateInZone(time.DateOnly, date, zone) },
		"toDate":         func(layout, text string) time.Time { t, _ := time.Parse(layout, text); return t },
		"mustToDate":     time.Parse,
		"durationRound":  durationRound,

		"keys": chart.SortedKeys, "values": chart.SortedValues, "printf": chart.Printf,

		"repeat": repeat, "indent": indent, "nindent": nindent,
		"until": until, "untilStep": untilStep, "seq": seq,

		"set": set, "merge": merging("merge"), "mergeOverwrite": merging("mergeOverwrite"),
		"mustMerge": merging("mustMerge"), "mustMergeOverwrite": merging("mustMergeOverwrite"),
	}
}

var errNoTime = errors.New("a date must be a time or a number of seconds; anything else would be the current time")

// moment converts the values that sprig accepts as a time.
func moment(date any) (time.Time, error) {
	switch date := date.(type) {
	case time.Time:
		return date, nil
	case *time.Time:
		if date != nil {
			return *date, nil
		}
	case int:
		return time.Unix(int64(date), 0), nil
	case int32:
		return time.Unix(int64(date), 0), nil
	case int64:
		return time.Unix(date, 0), nil
	}
	return time.Time{}, errNoTime
}

func dateUTC(layout string, date any) (string, error) {
	t, err := moment(date)
	if err != nil {
		return "", err
	}
	return t.UTC().Format(layout), nil
}

// dateInZone supports UTC only. Other time zones depend on files of the machine.
func dateInZone(layout string, date any, zone string) (string, error) {
	if zone != "" && zone != "UTC" {
		return "", fmt.Errorf("time zone %q depends on the machine; use UTC", zone)
	}
	return dateUTC(layout, date)
}

func durationRound(duration any) (string, error) {
	if _, isTime := duration.(time.Time); isTime {
		return "", fmt.Errorf("durationRound of a time is left out: %s", readsClock)
	}
	return own[func(any) string]("durationRound")(duration), nil
}

// own returns sprig's function with a name.
func own[F any](name string) F {
	f, _ := library()[name].(F) // a test calls each of them
	return f
}

var library = sync.OnceValue(sprig.TxtFuncMap)

// maxBuilt is the maximum number of bytes, or elements, that one call can build.
const maxBuilt = 1 << 20

func tooMuch(name string, n int) error {
	return fmt.Errorf("%s would make %d, more than the %d that are allowed", name, n, maxBuilt)
}

func repeat(count int, text string) (string, error) {
	if count > 0 && len(text) > maxBuilt/count {
		return "", tooMuch("repeat", count)
	}
	return strings.Repeat(text, max(count, 0)), nil
}

func indent(spaces int, text string) (string, error) {
	if spaces < 0 || spaces > 1000 {
		return "", fmt.Errorf("indent takes 0 to 1000 spaces, got %d", spaces)
	}
	pad := strings.Repeat(" ", spaces)
	return pad + strings.ReplaceAll(text, "\n", "\n"+pad), nil
}

func nindent(spaces int, text string) (string, error) {
	text, err := indent(spaces, text)
	return "\n" + text, err
}

func until(count int) ([]int, error) {
	if count < -maxBuilt || count > maxBuilt {
		return nil, tooMuch("until", count)
	}
	return own[func(int) []int]("until")(count), nil
}

func untilStep(start, stop, step int) ([]int, error) {
	if step != 0 && (stop/step-start/step) > maxBuilt {
		return nil, tooMuch("untilStep", stop/step-start/step)
	}
	return own[func(int, int, int) []int]("untilStep")(start, stop, step), nil
}

func seq(params ...int) (string, error) {
	for _, n := range params {
		if n < -maxBuilt || n > maxBuilt {
			return "", tooMuch("seq", n)
		}
	}
	if len(params) == 3 && params[1] == 0 {
		return "", nil // sprig's own would never end
	}
	return own[func(...int) string]("seq")(params...), nil
}

// maxDepth is the maximum depth of data that a template modified.
const maxDepth = 200

func set(dst map[string]any, key string, value any) (map[string]any, error) {
	dst[key] = value
	if tooDeep(value, maxDepth) {
		return nil, fmt.Errorf("set would put a map into itself, or nest deeper than %d", maxDepth)
	}
	return dst, nil
}

// merging wraps a function of sprig that merges maps into the first one. It is an error if the result contains itself,
// because printing it would never end.
func merging(name string) func(dst map[string]any, sources ...map[string]any) (any, error) {
	return func(dst map[string]any, sources ...map[string]any) (merged any, err error) {
		for _, source := range sources {
			if contains(source, dst) {
				return nil, fmt.Errorf("%s would put a map into itself", name)
			}
		}
		switch merge := library()[name].(type) {
		case func(map[string]any, ...map[string]any) any:
			merged = merge(dst, sources...)
		case func(map[string]any, ...map[string]any) (any, error):
			merged, err = merge(dst, sources...)
		}
		if tooDeep(dst, maxDepth) {
			return nil, fmt.Errorf("%s would put a map into itself, or nest deeper than %d", name, maxDepth)
		}
		return merged, err
	}
}

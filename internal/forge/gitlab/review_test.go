package gitlab

import (
	"testing"
	"time"
)

func TestHeadAt(t *testing.T) {
	at := func(minute int) time.Time { return time.Date(2030, 1, 1, 0, minute, 0, 0, time.UTC) }
	versions := []version{{"third", at(30)}, {"first", at(10)}, {"second", at(20)}}
	for name, test := range map[string]struct {
		at   time.Time
		want string
	}{
		"after the last push":   {at(40), "third"},
		"between two pushes":    {at(25), "second"},
		"before the first":      {at(5), ""},
		"at the time of a push": {at(20), ""},
		"without a time":        {time.Time{}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, unknown := headAt(versions, test.at)
			if got != test.want || (got == "") != (unknown != "") {
				t.Errorf("got %q, %q; want %q", got, unknown, test.want)
			}
		})
	}
}

package fleet

import (
	"fmt"
	"testing"
)

// A cache is bounded by the size of what it keeps, and keeps what is used.
func TestCacheIsBounded(t *testing.T) {
	const size = maxCachedSize / 10
	var c Cache
	used := &parsed{size: size}
	c.put("used", used)
	for i := range 100 {
		c.put(fmt.Sprint(i), &parsed{size: size})
		if c.get("used") != used {
			t.Fatalf("after %d others, one that is used is not there", i+1)
		}
	}
	total := 0
	for _, generation := range []map[string]*parsed{c.files, c.older} {
		for _, p := range generation {
			total += p.size
		}
	}
	if total > 2*maxCachedSize || c.get("1") != nil {
		t.Errorf("it keeps %d MiB", total>>20)
	}
	c.put("huge", &parsed{size: 100 * maxCachedSize})
	c.put("small", &parsed{size: 1})
	c.put("another", &parsed{size: 1})
	if c.size > maxCachedSize {
		t.Errorf("a huge file stays: %d MiB", c.size>>20)
	}
}

// Package sweeptest chooses the points at which a test interrupts what it tests.
//
// A sweep runs a story once for each of its writes, or requests, and interrupts it there. All points of all sweeps take minutes of processor time,
// so tests usually try a sample: the first, the last, and every seventh point between. Set KALYPSO_SWEEP to "all" for every point, or to a number
// for other points of the sample.
package sweeptest

import (
	"hash/fnv"
	"os"
	"strconv"
	"testing"
)

// variable is the environment variable that chooses the points.
const variable = "KALYPSO_SWEEP"

const (
	// step is the distance between two points of a sample.
	step = 7
	// between is how many points a sample of a long sweep has between the first and the last.
	between = 6
)

// Points returns the points of a sweep over n points that a test tries, in order. They depend only on the name of the test and on KALYPSO_SWEEP.
func Points(t testing.TB, n int) []int {
	t.Helper()
	text := os.Getenv(variable)
	if text == "all" {
		return sample(n, 1, 0)
	}
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(t.Name()))
	start := int(hash.Sum32() % (1 << 16))
	if text != "" {
		turn, err := strconv.ParseUint(text, 10, 16)
		if err != nil {
			t.Fatalf("%s is %q: set it to \"all\" or to a number", variable, text)
		}
		start += int(turn)
	}
	return sample(n, max(step, n/between), start)
}

// sample returns the first and the last of n points, and those between that are some steps after start.
func sample(n, step, start int) []int {
	var points []int
	for i := range n {
		if i == 0 || i == n-1 || i%step == start%step {
			points = append(points, i)
		}
	}
	return points
}

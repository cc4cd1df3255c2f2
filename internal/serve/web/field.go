package web

import (
	"fmt"
	"math"
	"strings"
)

// clusterField is a square for each cluster, the worst first. Very many clusters share squares.
type clusterField struct {
	Width, Height int
	Paths         []fieldPath
	// Per is how many clusters a square stands for.
	Per int
	// Label says it in words.
	Label string
}

// fieldPath are the squares of a tone, as the path of an SVG.
type fieldPath struct{ Tone, Path string }

// Sizes of squares in pixels, and the most of them in a field.
const (
	squareSize, squareStep = 9, 11
	maxSquares             = 480
	maxSquaresInLine       = 60
)

// fieldOf draws counts, in their order; nil if there is nothing to draw.
func fieldOf(counts []stateCount) *clusterField {
	total := 0
	for _, c := range counts {
		total += max(0, c.Count)
	}
	if total == 0 {
		return nil
	}
	f := &clusterField{Per: 1 + (total-1)/maxSquares}
	var squares []string
	var words []string
	for _, c := range counts {
		if c.Count <= 0 {
			continue
		}
		words = append(words, number(c.Count)+" "+label(c.State))
		for range 1 + (c.Count-1)/f.Per { // a few failing ones have a square, too
			squares = append(squares, tone(c.State))
		}
	}
	f.Label = strings.Join(words, ", ")
	line := min(maxSquaresInLine, max(12, int(math.Ceil(math.Sqrt(float64(len(squares))*5)))))
	f.Width = min(line, len(squares))*squareStep - squareStep + squareSize
	f.Height = ((len(squares)-1)/line+1)*squareStep - squareStep + squareSize
	var path strings.Builder
	for i, t := range squares {
		fmt.Fprintf(&path, "M%d %dh%dv%dh-%dz", i%line*squareStep, i/line*squareStep, squareSize, squareSize, squareSize)
		if i+1 == len(squares) || squares[i+1] != t {
			f.Paths = append(f.Paths, fieldPath{t, path.String()})
			path.Reset()
		}
	}
	return f
}

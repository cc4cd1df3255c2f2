package main

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/gif"
	"image/png"
	"os"
	"slices"

	"github.com/kalypso-io/kalypso/e2e/harness"
)

// frame is a picture, with how long it is shown in hundredths of a second.
type frame struct {
	picture image.Image
	delay   int
}

// How long frames are shown: with a button to read about, while clusters work, and the last one.
const (
	readable, brief, final = 220, 80, 500
)

// seen is what of a page makes a frame worth showing.
const seen = `document.querySelector("#main").innerText.replace(/[0-9a-f]{7}/g, "").replace(/\d+ of 3[^.]*/g, "")`

// shoot records the page, if it shows something new: with the step at the top, and the button in sight.
func (r *recorder) shoot(button string) error {
	text, err := harness.Eval[string](r.tab, seen)
	if err != nil || text == r.last {
		return err
	}
	r.last = text
	const scroll = `(document.getElementById("step") || document.body).scrollIntoView(),
		(document.getElementById("recorded") || document.body).scrollIntoView({block: "nearest"}), true`
	if _, err := harness.Eval[bool](r.tab, scroll); err != nil {
		return err
	}
	if err := r.tab.Shoot(r.picture); err != nil {
		return err
	}
	content, err := os.ReadFile(r.picture)
	if err != nil {
		return err
	}
	picture, err := png.Decode(bytes.NewReader(content))
	if err != nil {
		return fmt.Errorf("read a picture: %w", err)
	}
	delay := readable
	switch button {
	case "":
		delay = brief
	case "end":
		delay = final
	}
	r.frames = append(r.frames, frame{picture, delay})
	return nil
}

// encode makes an animated GIF. A frame only has the rectangle that differs from the one before.
func encode(frames []frame) ([]byte, error) {
	colors := palette(frames)
	nearest := map[color.RGBA]uint8{}
	animation := &gif.GIF{Config: image.Config{ColorModel: colors, Width: width, Height: height}}
	var before *image.Paletted
	for _, f := range frames {
		whole := image.NewPaletted(image.Rect(0, 0, width, height), colors)
		for y := range height {
			for x := range width {
				c := rgba(f.picture.At(x, y))
				index, ok := nearest[c]
				if !ok {
					index = uint8(colors.Index(c)) //nolint:gosec // a palette has at most 256 colors
					nearest[c] = index
				}
				whole.SetColorIndex(x, y, index)
			}
		}
		part := differing(before, whole)
		if part.Empty() {
			animation.Delay[len(animation.Delay)-1] += f.delay
			continue
		}
		cut, _ := whole.SubImage(part).(*image.Paletted)
		animation.Image = append(animation.Image, cut)
		animation.Delay = append(animation.Delay, f.delay)
		animation.Disposal = append(animation.Disposal, gif.DisposalNone)
		before = whole
	}
	var out bytes.Buffer
	err := gif.EncodeAll(&out, animation)
	return out.Bytes(), err
}

// differing is the rectangle in which two pictures differ; the whole picture if there is none before.
func differing(before, now *image.Paletted) image.Rectangle {
	if before == nil {
		return now.Bounds()
	}
	var differs image.Rectangle
	for y := range height {
		for x := range width {
			if before.ColorIndexAt(x, y) != now.ColorIndexAt(x, y) {
				differs = differs.Union(image.Rect(x, y, x+1, y+1))
			}
		}
	}
	return differs
}

// palette are the most frequent colors of all frames. Pages have few, besides the shades at the edges of letters.
func palette(frames []frame) color.Palette {
	counts := map[color.RGBA]int{}
	for _, f := range frames {
		for y := range height {
			for x := range width {
				counts[coarse(rgba(f.picture.At(x, y)))]++
			}
		}
	}
	var all []color.RGBA
	for c := range counts {
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b color.RGBA) int {
		if counts[a] != counts[b] {
			return counts[b] - counts[a]
		}
		return bytes.Compare([]byte{a.R, a.G, a.B}, []byte{b.R, b.G, b.B})
	})
	var colors color.Palette
	for _, c := range all[:min(len(all), 64)] {
		colors = append(colors, c)
	}
	return colors
}

func rgba(c color.Color) color.RGBA {
	r, g, b, _ := c.RGBA()
	return color.RGBA{uint8(r >> 8), uint8(g >> 8), uint8(b >> 8), 255} //nolint:gosec // 16 bits each
}

// coarse makes colors that differ little the same.
func coarse(c color.RGBA) color.RGBA {
	round := func(v uint8) uint8 { return uint8(min(255, (int(v)+4)/8*8)) } //nolint:gosec // at most 255
	return color.RGBA{round(c.R), round(c.G), round(c.B), 255}
}

package browser_test

import (
	"bytes"
	"cmp"
	"context"
	"image"
	"image/color"
	"image/png"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// mostBytes bounds a picture: they are part of the repository.
const mostBytes = 150 << 10

// pictures writes what the page looks like, as far down as it goes, without what only
// this machine is called.
func (b *tab) pictures(dir, name string) {
	b.t.Helper()
	host, err := os.Hostname()
	if err != nil {
		b.t.Fatal(err)
	}
	size := eval[struct{ Width, Height float64 }](b, `(() => {
		const all = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
		for (let node; (node = all.nextNode());) node.data = node.data.replaceAll(`+quote(host)+`, "shop").replaceAll(/127\.0\.0\.1:\d+/g, "10.0.0.7:6379");
		return { Width: innerWidth, Height: Math.min(document.body.scrollHeight, 1600) };
	})()`)
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	beyond := true
	shot, err := chromedp.Call(ctx, page.CaptureScreenshot, page.CaptureScreenshotParams{
		CaptureBeyondViewport: &beyond, Clip: &page.Viewport{Width: size.Width, Height: size.Height, Scale: 1},
	})
	if err != nil {
		b.t.Fatal(err)
	}
	small, err := reduce(shot.Data)
	if err != nil {
		b.t.Fatal(err)
	}
	if len(small) > mostBytes {
		b.t.Errorf("the picture of %s has %d bytes; %d are enough", name, len(small), mostBytes)
	}
	if err := os.WriteFile(filepath.Join(dir, name+".png"), small, 0o644); err != nil {
		b.t.Fatal(err)
	}
}

// reduce writes a picture with the 256 colours that it has most of, which makes it a
// third as long: pages have few, and shades of these at the edges of letters.
func reduce(text []byte) ([]byte, error) {
	from, err := png.Decode(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	counts := map[color.RGBA]int{}
	each(from, func(_, _ int, c color.RGBA) { counts[c]++ })
	most := slices.SortedFunc(maps.Keys(counts), func(x, y color.RGBA) int { return cmp.Compare(counts[y], counts[x]) })
	var colours color.Palette
	for _, c := range most[:min(len(most), 256)] {
		colours = append(colours, c)
	}
	to, nearest := image.NewPaletted(from.Bounds(), colours), map[color.RGBA]uint8{}
	each(from, func(x, y int, c color.RGBA) {
		at, known := nearest[c]
		if !known {
			at = uint8(colours.Index(c))
			nearest[c] = at
		}
		to.SetColorIndex(x, y, at)
	})
	var b bytes.Buffer
	err = (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&b, to)
	return b.Bytes(), err
}

func each(picture image.Image, f func(x, y int, c color.RGBA)) {
	box := picture.Bounds()
	for y := box.Min.Y; y < box.Max.Y; y++ {
		for x := box.Min.X; x < box.Max.X; x++ {
			f(x, y, color.RGBAModel.Convert(picture.At(x, y)).(color.RGBA))
		}
	}
}

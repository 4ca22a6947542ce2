package file

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"image"
	"image/color"
	_ "image/gif" // decoders
	"image/jpeg"
	"image/png"
	"io"
	"os"

	"golang.org/x/image/draw"
	_ "golang.org/x/image/webp" // decoder

	"openclaw/internal/tool"
	"openclaw/internal/turn"
)

// Limits of an image that a model is shown, and of what is decoded for it.
const (
	maxSide   = 2000
	maxBase64 = 5 << 20

	maxImageFile   = 64 << 20
	maxImagePixels = 64 << 20
)

// imageLimits is what an image must fit: pixels a side, bytes of base64.
type imageLimits struct{ side, base64 int }

func (l imageLimits) fits(data []byte) bool {
	return base64.StdEncoding.EncodedLen(len(data)) <= l.base64
}

// imageType returns the media type of an image a model can see, or "".
func imageType(head []byte) string {
	switch {
	case bytes.HasPrefix(head, []byte("\x89PNG\r\n\x1a\n")):
		return "image/png"
	case bytes.HasPrefix(head, []byte("\xFF\xD8\xFF")):
		return "image/jpeg"
	case bytes.HasPrefix(head, []byte("GIF87a")), bytes.HasPrefix(head, []byte("GIF89a")):
		return "image/gif"
	case len(head) >= 12 && bytes.HasPrefix(head, []byte("RIFF")) && string(head[8:12]) == "WEBP":
		return "image/webp"
	}
	return ""
}

// readImage shows an image, made smaller where it exceeds the limits. A file
// that does not decode is refused here: a provider would refuse every later
// request of the session for it.
func (f *Files) readImage(ctx context.Context, r *os.File, at *place, size int64, mime string) (tool.Result, error) {
	if size > maxImageFile {
		return tool.Result{}, fmt.Errorf("%s is an image of %d bytes, more than the limit of %d", at.path, size, maxImageFile)
	}
	select {
	case f.decoding <- struct{}{}:
		defer func() { <-f.decoding }()
	case <-ctx.Done():
		return tool.Result{}, context.Cause(ctx)
	}
	data, err := io.ReadAll(io.NewSectionReader(r, 0, maxImageFile))
	if err != nil {
		return tool.Result{}, at.fail("read", err)
	}
	shown, err := f.limits.fit(ctx, data, mime)
	if err != nil {
		return tool.Result{}, fmt.Errorf("decode image %s: %w", at.path, err)
	}
	note := fmt.Sprintf("Read image file [%s]", shown.mime)
	if shown.size != shown.original {
		note += fmt.Sprintf("\n[Shown at %dx%d, the original is %dx%d: multiply coordinates by %.2f.]", shown.size.X, shown.size.Y,
			shown.original.X, shown.original.Y, float64(shown.original.X)/float64(shown.size.X))
	}
	return tool.Result{Content: turn.Content{
		{Type: turn.BlockText, Text: note},
		{Type: turn.BlockImage, Data: base64.StdEncoding.EncodeToString(shown.data), MimeType: shown.mime},
	}}, nil
}

// picture is an encoded image.
type picture struct {
	data           []byte
	mime           string
	size, original image.Point
}

// fit returns data within the limits, unchanged where it already is.
func (l imageLimits) fit(ctx context.Context, data []byte, mime string) (picture, error) {
	cfg, _, err := image.DecodeConfig(bytes.NewReader(data))
	switch {
	case err != nil:
		return picture{}, err
	case cfg.Width <= 0 || cfg.Height <= 0:
		return picture{}, errors.New("it has no pixels")
	case int64(cfg.Width)*int64(cfg.Height) > maxImagePixels:
		return picture{}, fmt.Errorf("%dx%d pixels are too many to decode", cfg.Width, cfg.Height)
	}
	img, _, err := image.Decode(bytes.NewReader(data))
	if err != nil {
		return picture{}, err
	}
	size := img.Bounds().Size()
	if size.X <= l.side && size.Y <= l.side && l.fits(data) {
		return picture{data: data, mime: mime, size: size, original: size}, nil
	}
	orientation := 1
	if mime == "image/jpeg" {
		orientation = exifOrientation(data) // re-encoding loses it
	}
	return l.shrink(ctx, img, orientation, mime)
}

// shrink encodes img ever smaller until it fits.
func (l imageLimits) shrink(ctx context.Context, img image.Image, orientation int, mime string) (picture, error) {
	original := orient(image.Rectangle{Max: img.Bounds().Size()}, orientation).Max
	factor := min(1, float64(l.side)/float64(max(original.X, original.Y)))
	for ; factor > 0.01; factor *= 0.7 {
		if err := ctx.Err(); err != nil {
			return picture{}, err
		}
		size := image.Pt(max(int(float64(original.X)*factor), 1), max(int(float64(original.Y)*factor), 1))
		small := scale(img, size, orientation)
		data, mime, err := l.encode(small, mime)
		if err != nil {
			return picture{}, err
		}
		if data != nil {
			return picture{data: data, mime: mime, size: size, original: original}, nil
		}
	}
	return picture{}, errors.New("it does not become small enough")
}

// encode returns img in the best form that fits, nil if none does. What was
// lossless stays so if it fits, and everything transparent must.
func (l imageLimits) encode(img *image.NRGBA, mime string) ([]byte, string, error) {
	var buf bytes.Buffer
	if mime != "image/jpeg" {
		enc := png.Encoder{CompressionLevel: png.DefaultCompression}
		if err := enc.Encode(&buf, img); err != nil {
			return nil, "", fmt.Errorf("encode png: %w", err)
		}
		if l.fits(buf.Bytes()) {
			return buf.Bytes(), "image/png", nil
		}
		if !img.Opaque() {
			return nil, "", nil
		}
	}
	for _, quality := range []int{85, 70, 50} {
		buf.Reset()
		if err := jpeg.Encode(&buf, img, &jpeg.Options{Quality: quality}); err != nil {
			return nil, "", fmt.Errorf("encode jpeg: %w", err)
		}
		if l.fits(buf.Bytes()) {
			return buf.Bytes(), "image/jpeg", nil
		}
	}
	return nil, "", nil
}

// scale draws img upright at size.
func scale(img image.Image, size image.Point, orientation int) *image.NRGBA {
	lying := image.Rectangle{Max: size}
	if orientation >= 5 { // drawn as stored, then turned
		lying.Max = image.Pt(size.Y, size.X)
	}
	flat := image.NewNRGBA(lying)
	draw.CatmullRom.Scale(flat, lying, img, img.Bounds(), draw.Src, nil)
	if orientation == 1 {
		return flat
	}
	upright := image.NewNRGBA(image.Rectangle{Max: size})
	for y := range lying.Max.Y {
		for x := range lying.Max.X {
			to := turnPoint(image.Pt(x, y), lying.Max, orientation)
			upright.SetNRGBA(to.X, to.Y, color.NRGBA(flat.NRGBAAt(x, y)))
		}
	}
	return upright
}

// orient returns the bounds an image has once it is upright.
func orient(r image.Rectangle, orientation int) image.Rectangle {
	if orientation >= 5 {
		r.Max = image.Pt(r.Max.Y, r.Max.X)
	}
	return r
}

// turnPoint maps a stored pixel of an image of the given size to its upright place.
func turnPoint(p, size image.Point, orientation int) image.Point {
	right, bottom := size.X-1-p.X, size.Y-1-p.Y
	switch orientation {
	case 2:
		return image.Pt(right, p.Y)
	case 3:
		return image.Pt(right, bottom)
	case 4:
		return image.Pt(p.X, bottom)
	case 5:
		return image.Pt(p.Y, p.X)
	case 6:
		return image.Pt(bottom, p.X)
	case 7:
		return image.Pt(bottom, right)
	case 8:
		return image.Pt(p.Y, right)
	}
	return p
}

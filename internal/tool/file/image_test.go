package file

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"math/rand/v2"
	"testing"

	"openclaw/internal/turn"
)

// halves is an image whose left half is red and right half is blue.
func halves(w, h int) *image.NRGBA {
	img := image.NewNRGBA(image.Rect(0, 0, w, h))
	for y := range h {
		for x := range w {
			c := color.NRGBA{R: 255, A: 255}
			if x >= w/2 {
				c = color.NRGBA{B: 255, A: 255}
			}
			img.SetNRGBA(x, y, c)
		}
	}
	return img
}

func noise(w, h int) *image.NRGBA {
	img := image.NewNRGBA(image.Rect(0, 0, w, h))
	r := rand.New(rand.NewPCG(1, 2))
	for i := range img.Pix {
		img.Pix[i] = byte(r.Uint32())
		if i%4 == 3 {
			img.Pix[i] = 255
		}
	}
	return img
}

func asPNG(t testing.TB, img image.Image) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func asJPEG(t testing.TB, img image.Image) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := jpeg.Encode(&b, img, &jpeg.Options{Quality: 95}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func asGIF(t testing.TB, img image.Image) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := gif.Encode(&b, img, nil); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// withOrientation puts an Exif block into a JPEG.
func withOrientation(data []byte, order binary.AppendByteOrder, orientation uint16) []byte {
	tiff := []byte("II*\x00")
	if order == binary.AppendByteOrder(binary.BigEndian) {
		tiff = []byte("MM\x00*")
	}
	tiff = order.AppendUint32(tiff, 8)
	tiff = order.AppendUint16(tiff, 1)
	tiff = order.AppendUint16(tiff, 0x0112)
	tiff = order.AppendUint16(tiff, 3)
	tiff = order.AppendUint32(tiff, 1)
	tiff = order.AppendUint16(tiff, orientation)
	tiff = append(tiff, 0, 0, 0, 0, 0, 0)
	exif := append([]byte("Exif\x00\x00"), tiff...)
	out := append([]byte{}, data[:2]...)
	out = append(out, 0xFF, 0xE1)
	out = binary.BigEndian.AppendUint16(out, uint16(len(exif)+2))
	return append(append(out, exif...), data[2:]...)
}

// A lossless WebP of one pixel.
var tinyWebP = []byte("RIFF\x1a\x00\x00\x00WEBPVP8L\x0d\x00\x00\x00\x2f\x00\x00\x00\x10\x07\x10\x11\x11\x88\x88\xfe\x07\x00")

// shown decodes the image block of a read.
func (k *kit) shown(name string) (note string, block turn.Block, img image.Image) {
	k.t.Helper()
	r, err := k.call(k.t.Context(), "read", "path", name)
	k.must(err)
	if len(r.Content) != 2 || r.Content[1].Type != turn.BlockImage {
		k.t.Fatalf("read(%s) = %+v, want a note and an image", name, r.Content)
	}
	block = r.Content[1]
	data, err := base64.StdEncoding.DecodeString(block.Data)
	k.must(err)
	img, _, err = image.Decode(bytes.NewReader(data))
	k.must(err)
	return r.Content[0].Text, block, img
}

// RT-101: images by content, unchanged where they are small enough.
func TestRT101Images(t *testing.T) {
	k := newKit(t)
	for mime, data := range map[string][]byte{
		"image/png": asPNG(t, halves(30, 20)), "image/jpeg": asJPEG(t, halves(30, 20)),
		"image/gif": asGIF(t, halves(30, 20)), "image/webp": tinyWebP,
	} {
		k.put("misnamed.txt", string(data))
		note, block, _ := k.shown("misnamed.txt")
		if want := "Read image file [" + mime + "]"; note != want || block.MimeType != mime {
			t.Errorf("note = %q, type %q, want %q", note, block.MimeType, want)
		}
		if block.Data != base64.StdEncoding.EncodeToString(data) {
			t.Errorf("a small %s was changed", mime)
		}
	}
}

// RT-101: at most 2000 pixels a side and 5 MB of base64.
func TestRT101LargeImages(t *testing.T) {
	k := newKit(t)
	k.put("wide.png", string(asPNG(t, halves(3000, 300))))
	note, block, img := k.shown("wide.png")
	if got := img.Bounds().Size(); got != image.Pt(2000, 200) || block.MimeType != "image/png" {
		t.Errorf("shown at %v as %s, want 2000x200 png", got, block.MimeType)
	}
	wantContains(t, note, "2000x200", "3000x300", "1.50")

}

// What does not compress is encoded with loss, or made smaller where it is transparent.
func TestRT101HeavyImages(t *testing.T) {
	l := imageLimits{side: 2000, base64: 60_000}
	noisy := noise(150, 120)
	got, err := l.fit(t.Context(), asPNG(t, noisy), "image/png")
	if err != nil || !l.fits(got.data) || got.mime != "image/jpeg" || got.size != image.Pt(150, 120) {
		t.Errorf("noise became %d bytes of %s at %v, %v, want the same size as jpeg", len(got.data), got.mime, got.size, err)
	}
	noisy.Pix[3] = 0
	got, err = l.fit(t.Context(), asPNG(t, noisy), "image/png")
	if err != nil || !l.fits(got.data) || got.mime != "image/png" || got.size.X >= 150 {
		t.Errorf("transparent noise became %d bytes of %s at %v, %v, want a smaller png", len(got.data), got.mime, got.size, err)
	}
	if _, err := (imageLimits{side: 2000, base64: 10}).fit(t.Context(), asPNG(t, noisy), "image/png"); err == nil {
		t.Error("an image that cannot get small enough was not refused")
	}
}

// A photo that is stored lying is shown upright when it is made smaller.
func TestOrientation(t *testing.T) {
	l := imageLimits{side: 100, base64: maxBase64}
	lying := asJPEG(t, halves(120, 24))
	red := func(img image.Image, p image.Point) bool {
		r, _, b, _ := img.At(p.X, p.Y).RGBA()
		return r > b
	}
	wide, high := image.Pt(100, 20), image.Pt(20, 100)
	for _, order := range []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian} {
		for orientation, want := range map[uint16]struct {
			size image.Point
			red  image.Point // a point of the red half
		}{
			1: {wide, image.Pt(5, 10)}, 2: {wide, image.Pt(95, 10)}, 3: {wide, image.Pt(95, 10)}, 4: {wide, image.Pt(5, 10)},
			5: {high, image.Pt(10, 5)}, 6: {high, image.Pt(10, 5)}, 7: {high, image.Pt(10, 95)}, 8: {high, image.Pt(10, 95)},
			9: {wide, image.Pt(5, 10)}, // nonsense counts as 1
		} {
			got, err := l.fit(t.Context(), withOrientation(lying, order, orientation), "image/jpeg")
			if err != nil {
				t.Fatal(err)
			}
			img, err := jpeg.Decode(bytes.NewReader(got.data))
			if err != nil {
				t.Fatal(err)
			}
			if img.Bounds().Size() != want.size || got.size != want.size || !red(img, want.red) {
				t.Errorf("orientation %d: size %v, red at %v is %v; want %v and red there", orientation,
					img.Bounds().Size(), want.red, red(img, want.red), want.size)
			}
		}
	}
}

// Where a corner goes tells the eight orientations apart.
func TestTurnPoint(t *testing.T) {
	size := image.Pt(4, 3)
	want := map[int]image.Point{1: {1, 0}, 2: {2, 0}, 3: {2, 2}, 4: {1, 2}, 5: {0, 1}, 6: {2, 1}, 7: {2, 2}, 8: {0, 2}}
	for orientation, p := range want {
		if got := turnPoint(image.Pt(1, 0), size, orientation); got != p {
			t.Errorf("turnPoint((1,0), 4x3, %d) = %v, want %v", orientation, got, p)
		}
	}
}

// A broken image would poison the session: it is refused.
func TestBrokenImages(t *testing.T) {
	k := newKit(t)
	whole := asPNG(t, noise(50, 50))
	bomb := bytes.Clone(whole)
	binary.BigEndian.PutUint32(bomb[16:], 60_000) // width
	binary.BigEndian.PutUint32(bomb[20:], 60_000)
	k.put("cut.png", string(whole[:len(whole)/2]))
	k.put("head.png", string(whole[:10]))
	k.put("bomb.png", string(bomb))
	for _, name := range []string{"cut.png", "head.png", "bomb.png"} {
		wantContains(t, k.fails("read", "path", name), "decode image")
	}
}

func FuzzExifOrientation(f *testing.F) {
	small := asJPEG(f, halves(8, 8))
	f.Add(small)
	f.Add(withOrientation(small, binary.LittleEndian, 6))
	f.Add(withOrientation(small, binary.BigEndian, 3)[:40])
	f.Fuzz(func(t *testing.T, data []byte) {
		if got := exifOrientation(data); got < 1 || got > 8 {
			t.Errorf("exifOrientation = %d, want 1 to 8", got)
		}
	})
}

func TestExifOrientation(t *testing.T) {
	small := asJPEG(t, halves(8, 8))
	if got := exifOrientation(withOrientation(small, binary.LittleEndian, 6)); got != 6 {
		t.Errorf("exifOrientation = %d, want 6", got)
	}
	if got := exifOrientation(small); got != 1 {
		t.Errorf("exifOrientation without Exif = %d, want 1", got)
	}
}

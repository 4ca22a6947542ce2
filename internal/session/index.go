package session

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
)

// indexWriter writes sessions.json: entries that did not change are copied from
// the old file as they are, byte for byte.
type indexWriter struct {
	s         *Store
	recs      []record
	base      stamp // the file that the places of recs belong to
	irregular bool
	places    map[string]place
	off       int64
	out       *bufio.Writer
}

func (w *indexWriter) write(to io.Writer) error {
	w.out = bufio.NewWriterSize(to, readSize)
	old, err := w.openOld()
	if err != nil {
		return err
	}
	if old != nil {
		defer old.Close()
	}
	w.put([]byte("{"))
	first := true
	for _, rec := range w.recs {
		if rec.entry == nil && rec.at != 0 {
			continue
		}
		copyable := rec.at == 0 && rec.place.size > 0 && !w.irregular
		if rec.entry == nil && !copyable {
			continue
		}
		if !first {
			w.put([]byte(","))
		}
		first = false
		w.put([]byte("\n  "))
		w.put(quote(rec.key))
		w.put([]byte(": "))
		if copyable {
			err = w.copyEntry(rec, old)
		} else {
			err = w.newEntry(rec)
		}
		if err != nil {
			return err
		}
	}
	if !first {
		w.put([]byte("\n"))
	}
	w.put([]byte("}\n"))
	return w.out.Flush()
}

// openOld opens the file to copy from, if it is there and still the one that the
// places belong to.
func (w *indexWriter) openOld() (*os.File, error) {
	old, err := os.Open(w.s.path)
	if err != nil {
		return nil, nil // whoever wants to copy will notice
	}
	info, err := old.Stat()
	if err == nil && !w.base.matches(info) {
		err = errMoved
	}
	if err != nil {
		old.Close()
		return nil, err
	}
	return old, nil
}

// put counts what it writes; bufio keeps the first error until Flush.
func (w *indexWriter) put(b []byte) {
	w.off += int64(len(b))
	_, _ = w.out.Write(b)
}

func (w *indexWriter) copyEntry(rec record, old *os.File) error {
	if old == nil {
		return errMoved
	}
	p := rec.place
	p.off = w.off
	n, err := io.Copy(w.out, io.NewSectionReader(old, rec.place.off, int64(rec.place.size)))
	if err != nil {
		return err
	}
	if n != int64(rec.place.size) {
		return errMoved
	}
	w.off += n
	w.places[rec.key] = p
	return nil
}

func (w *indexWriter) newEntry(rec record) error {
	plain, err := rec.entry.MarshalJSON()
	if err != nil {
		return err
	}
	var buf bytes.Buffer
	if err := json.Indent(&buf, plain, "  ", "  "); err != nil {
		return fmt.Errorf("entry of %s: %w", rec.key, err)
	}
	var x index
	x.recs = map[string]*record{}
	if err := x.add(rec.key, w.off, buf.Bytes()); err != nil {
		return fmt.Errorf("entry of %s: %w", rec.key, err)
	}
	w.places[rec.key] = x.recs[rec.key].place
	w.put(buf.Bytes())
	return nil
}

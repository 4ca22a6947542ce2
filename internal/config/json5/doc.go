// Package json5 reads JSON5 text and changes it in place.
//
// [Decode] reads everything the JSON5 1.0 standard allows and keeps whole
// numbers exact. [Update] turns a text into one with another value and touches
// only what differs: comments, order, quotes, commas and indentation stay as the
// author wrote them. The package is pure; config owns the files.
//
//	v, err := json5.Decode(text)                          // map[string]any{"port": json.Number("18789")}
//	text, err = json5.Update(text, map[string]any{…})     // only the changed keys move
//
// Values are nil, bool, string, [encoding/json.Number], []any and
// map[string]any. Infinity and NaN, which JSON lacks, are float64.
package json5

// Package catalog knows the models of well-known providers without being told
// by the configuration: windows, limits, prices, and what they can take. The
// facts are embedded in the binary.
//
// Nothing is read before the first question. Then the whole table is parsed
// once and boiled down to [model.Info] values; the parsed form is dropped.
//
//	c := catalog.New()
//	info, ok := c.Find(model.Ref{Provider: "openai", ID: "gpt-5.2"})
package catalog

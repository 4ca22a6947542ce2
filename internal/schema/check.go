package schema

import (
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// checker collects every problem of a value. The texts and their order are
// those that clients know from the reference, see docs/protocol.md#validation-texts.
type checker struct {
	errs Errors
	// lenient ignores keys that a closed object does not know.
	lenient bool
	// verbose lists the allowed values in messages, for readers that act on them.
	verbose bool
}

func (c *checker) report(at, format string, args ...any) {
	c.errs.add(Problem{Pointer: at, Message: fmt.Sprintf(format, args...)})
}

// try returns what is wrong with v, without keeping it.
func (c *checker) try(n *node, v *value, at string) *Errors {
	sub := checker{lenient: c.lenient, verbose: c.verbose}
	sub.check(n, v, at)
	return &sub.errs
}

// ok reports whether v satisfies n.
func (c *checker) ok(n *node, v *value) bool { return c.try(n, v, "").none() }

func (c *checker) check(n *node, v *value, at string) {
	if n == nil || n.free {
		return
	}
	if n.never {
		c.report(at, "boolean schema is false")
		return
	}
	if !v.is(n.kinds) {
		c.report(at, "must be %s", strings.Join(n.kinds.names(), ","))
	}
	if v.kind == kNumber {
		c.number(n, v, at)
	}
	if v.kind == kString {
		c.text(n, v, at)
	}
	c.constants(n, v, at)
	if n.combined {
		c.combine(n, v, at)
	}
	if v.kind == kArray {
		c.array(n, v, at)
	}
	if v.kind == kObject {
		c.object(n, v, at)
	}
}

func (c *checker) number(n *node, v *value, at string) {
	if n.max == nil && n.min == nil && n.exclusiveMin == nil && n.exclusiveMax == nil && n.multipleOf == nil {
		return
	}
	f, err := v.num.Float64()
	if err != nil {
		c.report(at, "must be a number within range")
		return
	}
	if n.max != nil && f > *n.max {
		c.report(at, "must be <= %s", plain(*n.max))
	}
	if n.min != nil && f < *n.min {
		c.report(at, "must be >= %s", plain(*n.min))
	}
	if n.exclusiveMax != nil && f >= *n.exclusiveMax {
		c.report(at, "must be < %s", plain(*n.exclusiveMax))
	}
	if n.exclusiveMin != nil && f <= *n.exclusiveMin {
		c.report(at, "must be > %s", plain(*n.exclusiveMin))
	}
	if n.multipleOf != nil && !isMultiple(v.num, *n.multipleOf) {
		c.report(at, "must be multiple of %s", plain(*n.multipleOf))
	}
}

func plain(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

// isMultiple compares decimal texts exactly, so that 0.3 is a multiple of 0.1.
func isMultiple(num json.Number, of float64) bool {
	f, err := num.Float64()
	if err != nil || of == 0 {
		return false
	}
	a, ok1 := new(big.Rat).SetString(plain(f))
	b, ok2 := new(big.Rat).SetString(plain(of))
	return ok1 && ok2 && new(big.Rat).Quo(a, b).IsInt()
}

func (c *checker) text(n *node, v *value, at string) {
	length := -1
	if n.minLength > 0 || n.maxLength >= 0 {
		length = utf8.RuneCountInString(v.str)
	}
	if n.maxLength >= 0 && length > n.maxLength {
		c.report(at, "must NOT have more than %d characters", n.maxLength)
	}
	if n.minLength > 0 && length < n.minLength {
		c.report(at, "must NOT have fewer than %d characters", n.minLength)
	}
	if n.pattern != nil && !n.pattern.MatchString(v.str) {
		c.report(at, "must match pattern %q", n.pattern.String())
	}
}

// constants checks const and enum in all their forms.
func (c *checker) constants(n *node, v *value, at string) {
	isText := v.kind == kString
	if n.literal != "" && (!isText || v.str != n.literal) {
		c.report(at, "must be equal to constant")
	}
	if n.union != nil && (!isText || !slices.Contains(n.union, v.str)) {
		if c.verbose {
			c.report(at, "must be one of %s", strings.Join(n.union, ", "))
			return
		}
		c.report(at, "must be equal to constant")
		c.report(at, "must match a schema in anyOf")
	}
	if n.constant != nil && !v.equal(*n.constant) {
		c.report(at, "must be equal to constant")
	}
	if n.enum != nil && !slices.ContainsFunc(n.enum, v.equal) {
		if c.verbose {
			c.report(at, "must be one of %s", listed(n.enum))
			return
		}
		c.report(at, "must be equal to one of the allowed values")
	}
}

func listed(values []any) string {
	parts := make([]string, len(values))
	for i, v := range values {
		if s, ok := v.(string); ok {
			parts[i] = s
			continue
		}
		b, err := json.Marshal(v)
		if err != nil {
			b = fmt.Append(nil, v)
		}
		parts[i] = string(b)
	}
	return strings.Join(parts, ", ")
}

// combine checks the keywords that hold other schemas for the same value.
func (c *checker) combine(n *node, v *value, at string) {
	if n.not != nil && c.ok(n.not, v) {
		c.report(at, "must NOT be valid")
	}
	if n.anyOf != nil {
		if matches, failed := c.choices(n.anyOf, v, at); matches == 0 {
			c.errs.merge(failed)
			c.report(at, "must match a schema in anyOf")
		}
	}
	if n.oneOf != nil {
		if matches, failed := c.choices(n.oneOf, v, at); matches != 1 {
			if matches == 0 {
				c.errs.merge(failed)
			}
			c.report(at, "must match exactly one schema in oneOf")
		}
	}
	for _, s := range n.allOf {
		c.check(s, v, at)
	}
	if n.cond != nil {
		branch, name := n.orElse, "else"
		if c.ok(n.cond, v) {
			branch, name = n.then, "then"
		}
		if failed := c.try(branch, v, at); !failed.none() {
			c.errs.merge(failed)
			c.report(at, "must match %q schema", name)
		}
	}
}

// choices tries every schema once, counts those that match and collects what
// the others say.
func (c *checker) choices(list []*node, v *value, at string) (matches int, failed *Errors) {
	failed = &Errors{}
	for _, s := range list {
		errs := c.try(s, v, at)
		if errs.none() {
			matches++
		}
		failed.merge(errs)
	}
	return matches, failed
}

func (c *checker) array(n *node, v *value, at string) {
	if n.maxItems >= 0 && len(v.items) > n.maxItems {
		c.report(at, "must NOT have more than %d items", n.maxItems)
	}
	if len(v.items) < n.minItems {
		c.report(at, "must NOT have fewer than %d items", n.minItems)
	}
	if n.unique {
		if i, j, found := duplicate(v.items); found {
			c.report(at, "must NOT have duplicate items (items ## %d and %d are identical)", i, j)
		}
	}
	for i, item := range v.items {
		c.check(n.itemAt(i), item, at+"/"+strconv.Itoa(i))
	}
	if n.contains != nil && !slices.ContainsFunc(v.items, func(item *value) bool { return c.ok(n.contains, item) }) {
		c.report(at, "must contain at least 1 valid item(s)")
	}
}

func duplicate(items []*value) (i, j int, found bool) {
	seen := make(map[string]int, len(items))
	for i, item := range items {
		key := item.canonical()
		if j, ok := seen[key]; ok {
			return j, i, true
		}
		seen[key] = i
	}
	return 0, 0, false
}

func (c *checker) object(n *node, v *value, at string) {
	if n.maxProps >= 0 && len(v.keys) > n.maxProps {
		c.report(at, "must NOT have more than %d properties", n.maxProps)
	}
	if len(v.keys) < n.minProps {
		c.report(at, "must NOT have fewer than %d properties", n.minProps)
	}
	for _, name := range n.required {
		if _, ok := v.fields[name]; !ok {
			c.report(at, "must have required property '%s'", name)
		}
	}
	c.keys(n, v, at)
	for i := range n.props {
		p := &n.props[i]
		if field, ok := v.fields[p.name]; ok {
			c.property(p, field, at+"/"+escape(p.name))
		}
	}
	for _, p := range n.patternProps {
		for _, key := range v.keys {
			if p.re.MatchString(key) {
				c.check(p.node, v.fields[key], at+"/"+escape(key))
			}
		}
	}
	c.depend(n, v, at)
}

// property checks a field that may be nullable, in the words of a union.
func (c *checker) property(p *prop, v *value, at string) {
	if !p.nullable {
		c.check(p.node, v, at)
		return
	}
	failed := c.try(p.node, v, at)
	if v.kind == kNull || failed.none() {
		return
	}
	if p.node.union != nil { // the union has null as one more choice
		if v.kind != kString {
			c.report(at, "must be string")
		}
		c.report(at, "must be equal to constant")
	} else {
		c.errs.merge(failed)
	}
	c.report(at, "must be null")
	c.report(at, "must match a schema in anyOf")
}

// keys checks key names and the keys beyond the listed properties.
func (c *checker) keys(n *node, v *value, at string) {
	if n.keys != nil {
		for _, key := range v.keys {
			if failed := c.try(n.keys, &value{kind: kString, str: key}, at); !failed.none() {
				c.errs.merge(failed)
				c.report(at, "property name must be valid")
			}
		}
	}
	if !n.closed && n.additional == nil {
		return
	}
	for _, key := range v.keys {
		if _, ok := n.index[key]; ok || n.matchesPattern(key) {
			continue
		}
		switch {
		case n.additional != nil:
			c.check(n.additional, v.fields[key], at+"/"+escape(key))
		case !c.lenient:
			c.errs.add(Problem{Pointer: at, Unexpected: key})
		}
	}
}

func (n *node) matchesPattern(key string) bool {
	return slices.ContainsFunc(n.patternProps, func(p patternProp) bool { return p.re.MatchString(key) })
}

func (c *checker) depend(n *node, v *value, at string) {
	for _, key := range v.keys {
		for _, name := range n.dependentKeys[key] {
			if _, ok := v.fields[name]; !ok {
				c.report(at, "must have property %s when property %s is present", name, key)
			}
		}
		if s := n.dependencies[key]; s != nil {
			c.check(s, v, at)
		}
	}
}

var pointerEscaper = strings.NewReplacer("~", "~0", "/", "~1")

func escape(key string) string { return pointerEscaper.Replace(key) }

package json5

import (
	"strings"
	"testing"
)

func TestRewrite(t *testing.T) {
	const src = "// pass=x\n{\n  a: 'old', // keep\n  l: [{a: 'old'}, 1],\n  a: 'new', /* pass=y */\n}\n"
	var paths []string
	got, err := Rewrite(src, Rewriter{
		Scalar: func(path []string, v any) (any, bool) {
			paths = append(paths, strings.Join(path, "."))
			return "it's", path[len(path)-1] == "a"
		},
		Comment: func(text string) string { return strings.ReplaceAll(text, "pass=", "pass=*") },
	})
	if err != nil {
		t.Fatal(err)
	}
	const want = "// pass=*x\n{\n  a: 'it\\'s', // keep\n  l: [{a: 'it\\'s'}, 1],\n  a: 'it\\'s', /* pass=*y */\n}\n"
	if got != want {
		t.Errorf("Rewrite = %q, want %q", got, want)
	}
	if all := strings.Join(paths, " "); all != "a l.0.a l.1 a" {
		t.Errorf("paths = %s", all)
	}
	if same, err := Rewrite(src, Rewriter{}); err != nil || same != src {
		t.Errorf("Rewrite without functions = %q, %v", same, err)
	}
}

func TestRewriteErrors(t *testing.T) {
	for name, tt := range map[string]struct {
		src string
		r   Rewriter
	}{
		"syntax":        {"{", Rewriter{}},
		"no value":      {"1", Rewriter{Scalar: func([]string, any) (any, bool) { return make(chan int), true }}},
		"broke comment": {"1 /* c */", Rewriter{Comment: func(string) string { return "/* open" }}},
	} {
		if got, err := Rewrite(tt.src, tt.r); err == nil {
			t.Errorf("%s: Rewrite = %q, want an error", name, got)
		}
	}
}

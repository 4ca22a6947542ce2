// Package house_test keeps the house in order: who may import whom, which calls
// belong to which room, who owns a third-party module, and what has a page.
package house_test

import (
	"bufio"
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// floors of the house; imports point to a lower floor. A child may import its
// parent whatever the numbers say, a parent never imports a child.
var floors = map[string]int{
	"protocol": 0, "byo": 0, "byo/seal": 0,
	"internal/chat": 0, "internal/cli": 0, "internal/cue": 0, "internal/disk": 0, "internal/guard": 0, "internal/lane": 0, "internal/logs": 0,
	"internal/schema": 0, "internal/sse": 0, "internal/testkit": 0, "internal/turn": 0,
	"client":          1,
	"internal/device": 1, "internal/mockllm": 1, "internal/model": 1, "internal/relayclient": 1, "internal/run": 1, "internal/tool": 1,
	"internal/config": 2, "internal/ledger": 2, "internal/pairing": 2, "internal/session": 2, "internal/workspace": 2,
	"internal/agent": 3, "internal/assistant": 3, "internal/desktop": 3, "internal/relay": 3, "internal/router": 3,
	"internal/model/anthropic": 4, "internal/model/auth": 4, "internal/model/catalog": 4,
	"internal/model/offline": 4, "internal/model/openai": 4,
	"internal/assistant/backend": 4, "internal/plugin/stagewhisper": 4, "internal/relay/jetstream": 4,
	"internal/tool/file": 4, "internal/tool/shell": 4,
	"internal/gateway": 5, "internal/doctor": 5,
	"bench": 6, "examples": 6, "cmd/openclaw": 6, "cmd/stagewhisper": 6, "interop": 6, "internal/conformance": 6, "killtest": 6,
}

// pure packages import nothing of ours at all; client imports only protocol.
var onlyImports = map[string][]string{"protocol": {}, "byo": {}, "client": {"protocol"}}

const module = "openclaw"

// source is one parsed Go file.
type source struct {
	path string // slash-separated, relative to the module root
	dir  string
	test bool
	file *ast.File
	fset *token.FileSet
}

func sources(t *testing.T) []source {
	t.Helper()
	var all []source
	walk(t, func(p string, d fs.DirEntry) {
		if !strings.HasSuffix(p, ".go") {
			return
		}
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, p, nil, parser.ParseComments)
		if err != nil {
			t.Fatalf("parse %s: %v", p, err)
		}
		all = append(all, source{path: p, dir: path.Dir(p), test: strings.HasSuffix(p, "_test.go"), file: f, fset: fset})
	})
	if len(all) < 10 {
		t.Fatalf("found %d Go files, want the whole tree", len(all))
	}
	return all
}

// walk visits every file of the tree that is part of the project.
func walk(t *testing.T, visit func(p string, d fs.DirEntry)) {
	t.Helper()
	err := filepath.WalkDir(".", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (p == ".git" || p == "bin" || p == "dist") {
			return filepath.SkipDir
		}
		if !d.IsDir() {
			visit(filepath.ToSlash(p), d)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// imports returns the paths f imports.
func (s source) imports() []string {
	var paths []string
	for _, spec := range s.file.Imports {
		p, _ := strconv.Unquote(spec.Path.Value)
		paths = append(paths, p)
	}
	return paths
}

// room is the package whose rules hold for dir: a testdata or generator folder
// belongs to the nearest listed parent, a <pkg>test package to its own parent.
func room(dir string) (string, bool) {
	for d := dir; d != "."; d = path.Dir(d) {
		if _, ok := floors[d]; ok {
			return d, true
		}
	}
	return "", false
}

func TestImportsPointDown(t *testing.T) {
	for _, s := range sources(t) {
		if s.dir == "." {
			continue
		}
		from, ok := room(s.dir)
		if !ok {
			t.Errorf("%s: the package has no floor; give it one in house_test.go and ARCHITECTURE.md", s.path)
			continue
		}
		if s.test {
			continue // a test may bring the rooms it joins
		}
		for _, imp := range s.imports() {
			if dir, ours := strings.CutPrefix(imp, module+"/"); ours {
				if why := climbs(s.dir, from, dir); why != "" {
					t.Errorf("%s imports %s: %s", s.path, dir, why)
				}
			}
		}
	}
}

// climbs says what is wrong with an import of ours, or nothing.
func climbs(dir, from, to string) string {
	target, ok := room(to)
	if !ok {
		return "it has no floor"
	}
	if allowed, limited := onlyImports[from]; limited && target != from {
		if !slices.Contains(allowed, target) {
			return "public packages stand alone"
		}
		return ""
	}
	switch {
	case target == from:
		return ""
	case strings.HasPrefix(target, from+"/"):
		return "a parent never imports its child"
	case strings.HasPrefix(from, target+"/"):
		return ""
	case strings.HasSuffix(path.Base(to), "test") || to == "internal/testkit" || to == "internal/mockllm":
		if strings.HasSuffix(path.Base(dir), "test") || floors[from] == 6 {
			return ""
		}
		return "test helpers stay out of the product"
	case path.Dir(target) == path.Dir(from) && path.Dir(from) != "internal" && path.Dir(from) != ".":
		return "siblings never import each other"
	case floors[target] >= floors[from]:
		return "imports go to a lower floor (" + strconv.Itoa(floors[from]) + " to " + strconv.Itoa(floors[target]) + ")"
	}
	return ""
}

func TestClimbs(t *testing.T) {
	tests := []struct {
		dir, to string
		wrong   bool
	}{
		{"internal/agent", "internal/session", false},
		{"internal/agent", "internal/router", true},
		{"internal/session", "internal/agent", true},
		{"internal/model", "internal/model/openai", true},
		{"internal/model/openai", "internal/model", false},
		{"internal/model/openai", "internal/model/anthropic", true},
		{"client", "protocol", false},
		{"client", "internal/turn", true},
		{"protocol", "internal/turn", true},
		{"internal/gateway", "internal/mockllm", true},
		{"cmd/openclaw", "internal/gateway", false},
		{"internal/gateway", "internal/nowhere", true},
	}
	for _, tt := range tests {
		from, _ := room(tt.dir)
		if why := climbs(tt.dir, from, tt.to); (why != "") != tt.wrong {
			t.Errorf("climbs(%s, %s) = %q, want wrong %v", tt.dir, tt.to, why, tt.wrong)
		}
	}
}

// The relay is blind: nothing it could open an envelope or ask a model with is
// linked into it, by however many steps.
func TestRelayIsBlind(t *testing.T) {
	imports := map[string][]string{}
	for _, s := range sources(t) {
		if s.test {
			continue
		}
		for _, imp := range s.imports() {
			if dir, ours := strings.CutPrefix(imp, module+"/"); ours {
				imports[s.dir] = append(imports[s.dir], dir)
			}
		}
	}
	if len(imports["internal/relay"]) == 0 {
		t.Fatal("internal/relay imports nothing of ours, want at least byo")
	}
	for _, root := range []string{"internal/relay", "internal/relay/relaytest", "internal/relay/jetstream"} {
		seen := map[string]bool{}
		var visit func(dir string, path []string)
		visit = func(dir string, path []string) {
			if seen[dir] {
				return
			}
			seen[dir] = true
			if within(dir, []string{"byo/seal", "internal/agent", "internal/model", "internal/assistant", "internal/desktop"}) {
				t.Errorf("%s reaches %s: %s", root, dir, strings.Join(append(path, dir), " → "))
			}
			for _, next := range imports[dir] {
				visit(next, append(path, dir))
			}
		}
		visit(root, nil)
	}
}

// Every package has exactly one package comment, in doc.go.
func TestPackageComments(t *testing.T) {
	comments := map[string][]string{}
	packages := map[string]bool{}
	for _, s := range sources(t) {
		if s.test || s.dir == "." {
			continue
		}
		packages[s.dir] = true
		if s.file.Doc != nil {
			comments[s.dir] = append(comments[s.dir], path.Base(s.path))
		}
	}
	for dir := range packages {
		if got := comments[dir]; len(got) != 1 || got[0] != "doc.go" {
			t.Errorf("%s: package comment in %v, want exactly one, in doc.go", dir, got)
		}
	}
}

// rule says which rooms may use certain names of a standard package.
type rule struct {
	pkg   string
	names string
	rooms []string // a room holds its children too
	why   string
}

var rules = []rule{
	{"os", "Args Exit Stdout", []string{"cmd", "examples", "internal/cli", "bench"}, "only the command line touches the process's arguments, exit and output"},
	{"fmt", "Print Printf Println", []string{"cmd", "bench"}, "only the command line prints"},
	{"log", "Print Printf Println Fatal Fatalf Fatalln Panic Panicf Default", nil, "log through slog, passed in Config.Log"},
	{"os", "Getenv LookupEnv Environ Setenv Unsetenv ExpandEnv Clearenv UserHomeDir UserConfigDir UserCacheDir",
		[]string{"cmd", "internal/config", "bench"}, "only cmd and config read the environment"},
	{"os", "Create CreateTemp WriteFile OpenFile Rename Mkdir MkdirAll MkdirTemp Link Symlink Truncate",
		[]string{"internal/disk", "internal/tool/file", "bench"}, "only disk creates or renames files"},
}

func TestForbiddenCalls(t *testing.T) {
	for _, s := range sources(t) {
		if s.test || testPackage(s.dir) || generator(s) {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			pkg, ok := sel.X.(*ast.Ident)
			if !ok || pkg.Obj != nil {
				return true
			}
			for _, r := range rules {
				if r.pkg == pkg.Name && slices.Contains(s.imports(), r.pkg) &&
					slices.Contains(strings.Fields(r.names), sel.Sel.Name) && !within(s.dir, r.rooms) {
					t.Errorf("%s: %s.%s: %s", s.fset.Position(sel.Pos()), pkg.Name, sel.Sel.Name, r.why)
				}
			}
			return true
		})
	}
}

func within(dir string, rooms []string) bool {
	return slices.ContainsFunc(rooms, func(r string) bool { return dir == r || strings.HasPrefix(dir, r+"/") })
}

func testPackage(dir string) bool {
	base := path.Base(dir)
	return strings.HasSuffix(base, "test") || within(dir, []string{"internal/testkit", "internal/mockllm", "internal/conformance", "interop"})
}

// generator reports whether s is a program outside cmd, run by go generate.
func generator(s source) bool {
	return s.file.Name.Name == "main" && !within(s.dir, []string{"cmd"})
}

// No bare go statement, no init, no test that sleeps or skips.
func TestHabits(t *testing.T) {
	for _, s := range sources(t) {
		ast.Inspect(s.file, func(n ast.Node) bool {
			where := func() token.Position { return s.fset.Position(n.Pos()) }
			switch n := n.(type) {
			case *ast.GoStmt:
				if !s.test {
					t.Errorf("%s: bare go statement; start it with errgroup or WaitGroup.Go so that someone waits", where())
				}
			case *ast.FuncDecl:
				if n.Name.Name == "init" && n.Recv == nil && !s.test {
					t.Errorf("%s: func init; say it in the wiring instead", where())
				}
			case *ast.SelectorExpr:
				x, ok := n.X.(*ast.Ident)
				if !ok || !s.test {
					return true
				}
				if x.Name == "time" && n.Sel.Name == "Sleep" && s.dir != "." && !synctested(s.file) {
					t.Errorf("%s: time.Sleep in a test; use testing/synctest or wait for the event itself", where())
				}
				if slices.Contains([]string{"Skip", "Skipf", "SkipNow"}, n.Sel.Name) && slices.Contains([]string{"t", "b", "f", "tb"}, x.Name) {
					t.Errorf("%s: a test that skips proves nothing", where())
				}
			}
			return true
		})
	}
}

// synctested reports whether f tests time in a bubble, where a sleep costs and
// risks nothing.
func synctested(f *ast.File) bool {
	return slices.ContainsFunc(f.Imports, func(i *ast.ImportSpec) bool { return i.Path.Value == `"testing/synctest"` })
}

// owners reads the table of docs/dependencies.md: module → rooms.
func owners(t *testing.T) map[string][]string {
	t.Helper()
	data, err := os.ReadFile("docs/dependencies.md")
	if err != nil {
		t.Fatal(err)
	}
	table := map[string][]string{}
	row := regexp.MustCompile("^\\| `([^`]+)` \\| ([^|]+) \\|")
	for line := range strings.Lines(string(data)) {
		if m := row.FindStringSubmatch(line); m != nil {
			for _, r := range strings.Split(m[2], ",") {
				table[m[1]] = append(table[m[1]], strings.Trim(r, " `"))
			}
		}
	}
	if len(table) < 5 {
		t.Fatalf("docs/dependencies.md lists %d modules, want the whole table", len(table))
	}
	return table
}

func TestThirdPartyOwners(t *testing.T) {
	table := owners(t)
	used := map[string]bool{}
	for _, s := range sources(t) {
		for _, imp := range s.imports() {
			first, _, _ := strings.Cut(imp, "/")
			if !strings.Contains(first, ".") {
				continue
			}
			mod := ""
			for m := range table {
				if (imp == m || strings.HasPrefix(imp, m+"/")) && len(m) > len(mod) {
					mod = m
				}
			}
			used[mod] = true
			rooms := table[mod]
			switch {
			case mod == "":
				t.Errorf("%s imports %s: it is not in docs/dependencies.md", s.path, imp)
			case slices.Contains(rooms, "all") || within(s.dir, rooms):
			case slices.Contains(rooms, "tests") && (s.test || testPackage(s.dir)):
			default:
				t.Errorf("%s imports %s: its owners are %v", s.path, imp, rooms)
			}
		}
	}
	for mod := range table {
		if !used[mod] {
			t.Errorf("docs/dependencies.md lists %s, which nobody imports", mod)
		}
	}
}

// Every method of the protocol has its place in docs/protocol.md.
func TestMethodsAreDocumented(t *testing.T) {
	page, err := os.ReadFile("docs/protocol.md")
	if err != nil {
		t.Fatal(err)
	}
	methods := 0
	for _, s := range sources(t) {
		if s.dir != "protocol" || s.test {
			continue
		}
		for _, decl := range s.file.Decls {
			gen, ok := decl.(*ast.GenDecl)
			if !ok || gen.Tok != token.CONST {
				continue
			}
			for name, value := range stringConsts(gen) {
				if !strings.HasPrefix(name, "Method") {
					continue
				}
				methods++
				if !bytes.Contains(page, []byte("`"+value+"`")) {
					t.Errorf("docs/protocol.md does not mention method `%s`", value)
				}
			}
		}
	}
	if methods == 0 {
		t.Error("found no Method… constants in protocol, want the method names")
	}
}

func stringConsts(gen *ast.GenDecl) map[string]string {
	consts := map[string]string{}
	for _, spec := range gen.Specs {
		v, ok := spec.(*ast.ValueSpec)
		if !ok {
			continue
		}
		for i, name := range v.Names {
			if i < len(v.Values) {
				if lit, ok := v.Values[i].(*ast.BasicLit); ok && lit.Kind == token.STRING {
					consts[name.Name], _ = strconv.Unquote(lit.Value)
				}
			}
		}
	}
	return consts
}

// Nothing in the tree names a folder of somebody's machine, or work left over.
func TestNoStrayText(t *testing.T) {
	stray := regexp.MustCompile(`/` + `work/|/` + `farm/|/` + `root/|/` + `Users/[a-z]+/|` + `TO` + `DO\b|` + `FIX` + `ME\b`)
	walk(t, func(p string, d fs.DirEntry) {
		if info, err := d.Info(); err != nil || !info.Mode().IsRegular() || info.Size() > 2<<20 || p == "go.sum" {
			return
		}
		data, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.IndexByte(data, 0) >= 0 {
			return
		}
		lines := bufio.NewScanner(bytes.NewReader(data))
		lines.Buffer(nil, 4<<20)
		for n := 1; lines.Scan(); n++ {
			if m := stray.Find(lines.Bytes()); m != nil {
				t.Errorf("%s:%d holds %q", p, n, m)
			}
		}
		if err := lines.Err(); err != nil {
			t.Fatalf("read %s: %v", p, err)
		}
	})
}

// ARCHITECTURE.md fits one sitting and names every room.
func TestArchitecturePage(t *testing.T) {
	data, err := os.ReadFile("ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	if lines := bytes.Count(data, []byte("\n")); lines > 150 {
		t.Errorf("ARCHITECTURE.md has %d lines, want at most 150", lines)
	}
	for dir := range floors {
		if _, err := os.Stat(dir); err == nil && !bytes.Contains(data, []byte(dir)) {
			t.Errorf("ARCHITECTURE.md does not name %s", dir)
		}
	}
}

// A page that a comment cites exists, and so does the section.
func TestCitedPages(t *testing.T) {
	cite := regexp.MustCompile(`docs/[a-z0-9/-]+\.md(#[a-z0-9-]+)?`)
	sections := map[string]map[string]bool{}
	for _, s := range sources(t) {
		for _, group := range s.file.Comments {
			for _, ref := range cite.FindAllString(group.Text(), -1) {
				page, section, _ := strings.Cut(ref, "#")
				if sections[page] == nil {
					sections[page] = anchors(page)
				}
				if len(sections[page]) == 0 {
					t.Errorf("%s cites %s, which does not exist", s.path, page)
				} else if section != "" && !sections[page][section] {
					t.Errorf("%s cites %s, which has no such section", s.path, ref)
				}
			}
		}
	}
}

// anchors lists the sections of a page as links name them; a page that does not
// exist has none.
func anchors(page string) map[string]bool {
	data, err := os.ReadFile(page)
	if err != nil {
		return nil
	}
	drop := regexp.MustCompile(`[^a-z0-9 -]`)
	found := map[string]bool{}
	for line := range strings.Lines(string(data)) {
		if title, ok := strings.CutPrefix(strings.TrimLeft(line, "#"), " "); ok && strings.HasPrefix(line, "#") {
			found[strings.ReplaceAll(drop.ReplaceAllString(strings.ToLower(strings.TrimSpace(title)), ""), " ", "-")] = true
		}
	}
	return found
}

// Package tool is the contract between the agent and what a model may call.
//
// [New] turns a typed Go function into a [Tool]: the parameter schema comes from
// the struct, arguments are corrected, validated and decoded before the function
// runs, and its error becomes a result that the model can read. [Filter] applies
// the policy layers of a run, [Layers] makes them from the configuration.
//
// The tools themselves live with what they drive; the children file and shell
// hold those of the workspace. The builder of a run's tool list calls New and
// Filter, the agent calls Execute. The package is pure: it keeps no state besides
// a cache of schemas, and touches neither files nor the clock.
//
//	type params struct {
//		_    struct{} `schema:"open"`
//		City string   `json:"city" jsonschema:"where to look"`
//	}
//
//	weather := tool.New(tool.Spec{Name: "weather", Label: "Weather"},
//		func(ctx context.Context, call tool.Call, p params) (tool.Result, error) {
//			return tool.JSONResult(report), nil
//		})
package tool

// Package tool is the contract between the agent and what a model may call.
//
// [New] turns a typed Go function into a [Tool]: the parameter schema comes from
// the struct, arguments are validated and decoded before the function runs. The
// policy in this package decides which tools a run may use. The tools
// themselves live with what they drive; toolbox children hold files and shell.
package tool

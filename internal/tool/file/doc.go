// Package file holds the tools with which a model reads, writes and edits
// files: read, write and edit.
//
// Relative paths start at the workspace of the run. By default the tools reach
// whatever the gateway's user may reach; with [Scope.Root] they are confined to
// one folder and follow no symbolic link. Only regular files are touched, so a
// call never hangs on a pipe or a device; what a call holds in memory is
// bounded, however large the file is. Writes replace a file as a whole and keep
// its mode.
//
// The package owns no state besides the turn of the one image that is being
// decoded. The builder of a run's tool list calls it:
//
//	files := file.New(file.Config{Home: home})
//	tools := files.Tools(file.Scope{Dir: workspace})
package file

// Package config owns the configuration file: finding it, reading it, saying what
// is wrong with it, changing it and noticing that somebody else did.
//
// [Load] turns a file into a [Snapshot]: JSON5, includes, the env block, ${NAME},
// validation against the table in known.txt, defaults, and a typed view. [File]
// holds the current snapshot for a running program; reading it costs one pointer
// load. Every write keeps the author's text, comments and references, and touches
// only what changed; nothing that was injected or substituted reaches the disk.
//
// cmd opens the file and hands out snapshots or sections of [Config]; gateway
// answers the config methods with it. The package starts no goroutine but in
// [File.Run].
//
//	paths := config.ResolvePaths(os.Getenv, home)
//	file := config.Open(config.Options{Paths: paths, Env: os.Getenv, Version: version})
//	port, _ := file.Snapshot().Config.Port(os.Getenv)
//	_, err := file.Edit(ctx, config.Op{Path: []string{"gateway", "port"}, Value: 19001})
package config

// Package auth finds the key of a provider: in the stored auth profiles of an
// agent, in the environment, or in the configuration, in this order.
//
// Profiles stand in <agentDir>/auth-profiles.json. An agent other than main
// sees the profiles of main below its own. The file is read when it changed and
// never written here. Keys leave the package as [logs.Secret] only and are never
// logged.
//
//	keys := auth.New(auth.Config{Path: path, Env: os.Getenv})
//	c, ok := keys.Find("anthropic", "", "")
package auth

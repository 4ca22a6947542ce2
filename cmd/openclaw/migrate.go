package main

import (
	"context"
	"log/slog"
	"os"
	"time"

	"openclaw/internal/config"
	"openclaw/internal/doctor"
)

// migrateState moves sessions and the agent folder of earlier releases to where they
// are looked for now. What cannot be moved now stays for the next start.
func migrateState(paths config.Paths, c *config.Config, log *slog.Logger) {
	log = log.With("subsystem", "migration")
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	done, err := doctor.Moves{Paths: paths, Env: os.Getenv, Config: c, Now: time.Now}.Run(ctx)
	for _, line := range done {
		log.Info(line)
	}
	if err != nil {
		log.Error("the state of an earlier release is not where it is looked for", "err", err)
	}
}

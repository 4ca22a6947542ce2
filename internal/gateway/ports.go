package gateway

import (
	"context"

	"openclaw/internal/config"
)

// Settings is the config file; [config.File] is one.
type Settings interface {
	// Snapshot returns the configuration in force; it is cheap.
	Snapshot() *config.Snapshot
	// Read returns the file as it lies on disk, valid or not.
	Read() *config.Snapshot
	// Set replaces its text. Errors about the request are [*config.Error].
	Set(ctx context.Context, raw, baseHash string) (*config.Snapshot, error)
	// Patch applies a JSON merge patch to it. Errors are as for Set.
	Patch(ctx context.Context, raw, baseHash string) (*config.Snapshot, error)
}

// maxAttachment bounds one attachment, in decoded bytes.
const maxAttachment = 5_000_000

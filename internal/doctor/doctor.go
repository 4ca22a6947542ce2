package doctor

import (
	"context"
	"time"

	"openclaw/internal/config"
	"openclaw/internal/model"
)

// Level says how much a finding matters.
type Level string

const (
	OK      Level = "ok"
	Note    Level = "note"    // worth knowing
	Problem Level = "problem" // something does not work, or is unsafe
)

// Finding is one thing a check saw.
type Finding struct {
	Check string   `json:"check"`
	Level Level    `json:"level"`
	Text  string   `json:"text"`
	Hints []string `json:"hints,omitempty"`
	// Repair mends it; nil when only the user can.
	Repair *Repair `json:"-"`
}

// Repair is a change that mends a finding.
type Repair struct {
	Title string // an order, such as "remove the unknown keys"
	// Safe repairs lose nothing and change no meaning; they are made without
	// asking when nobody can be asked.
	Safe bool
	// Do makes the change and says what it did, a line for each.
	Do func(ctx context.Context) ([]string, error)
}

// Check looks at one part of an installation.
type Check func(ctx context.Context) []Finding

// Config is what the checks look at. All fields are required unless they say
// otherwise.
type Config struct {
	Paths   config.Paths
	Env     config.Env
	Version string // of this program, noted in files it writes
	Program string // the name the user types

	// Models makes the model directory of a configuration.
	Models func(*config.Snapshot) *model.Directory
	// Listeners describes the programs that listen on a port.
	Listeners func(port int) []string
	// Probe asks the gateway of the configuration for its health.
	Probe func(ctx context.Context) error
	// NewToken makes a secret for the gateway; GenerateToken asks for one when
	// there is none.
	NewToken      func() string
	GenerateToken bool
	// NoSuggestions leaves out tips about the workspace.
	NoSuggestions bool
	Now           func() time.Time // default time.Now
}

// Checks lists all checks in order.
func Checks(cfg Config) []Check {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	d := &doctor{cfg}
	return []Check{
		d.configFile, d.configKeys, d.configMode,
		d.stateFolder, d.otherFolders, d.legacyState, d.whatsApp,
		d.gatewayMode, d.gatewaySecret, d.gatewayPort,
		d.sessionStores, d.sessionKeys, d.transcripts,
		d.defaultModel, d.profiles,
		d.workspace,
	}
}

// doctor holds what all checks share.
type doctor struct{ Config }

// snapshot reads the config file as it is now.
func (d *doctor) snapshot() *config.Snapshot { return config.Load(d.Paths, d.Env) }

// edit changes the config file and notes who did it.
func (d *doctor) edit(ctx context.Context, ops ...config.Op) error {
	file := config.Open(config.Options{Paths: d.Paths, Env: d.Env, Version: d.Version, Now: d.Now})
	for name, value := range map[string]string{
		"lastRunAt": d.Now().UTC().Format("2006-01-02T15:04:05.000Z"), "lastRunVersion": d.Version,
		"lastRunCommand": "doctor", "lastRunMode": "local",
	} {
		ops = append(ops, config.Op{Path: []string{"wizard", name}, Value: value})
	}
	_, err := file.Edit(ctx, ops...)
	return err
}

func ok(check, text string) []Finding { return []Finding{{Check: check, Level: OK, Text: text}} }

func note(check, text string, hints ...string) Finding {
	return Finding{Check: check, Level: Note, Text: text, Hints: hints}
}

func problem(check, text string, hints ...string) Finding {
	return Finding{Check: check, Level: Problem, Text: text, Hints: hints}
}

// or returns the findings, or that all is well.
func or(found []Finding, check, text string) []Finding {
	if len(found) == 0 {
		return ok(check, text)
	}
	return found
}

package logs

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math"
	"strings"
	"time"

	"github.com/lmittmann/tint"
)

// Subsystem is the attribute that names the room a record comes from.
const Subsystem = "subsystem"

// Levels beyond those of slog.
const (
	LevelTrace  = slog.LevelDebug - 4
	LevelFatal  = slog.LevelError + 4
	LevelSilent = slog.Level(math.MaxInt32)
)

// Console styles, as in logging.consoleStyle.
const (
	StylePretty  = "pretty"
	StyleCompact = "compact"
	StyleJSON    = "json"
)

// Config says where a logger writes.
type Config struct {
	// File gets JSON lines; nil means no file.
	File io.Writer
	// Level is the lowest level for File; default info.
	Level slog.Leveler

	// Console gets text for people; nil means no console.
	Console io.Writer
	// ConsoleLevel is the lowest level for Console; default info.
	ConsoleLevel slog.Leveler
	// ConsoleStyle is pretty, compact or json; default compact.
	ConsoleStyle string
	// Color allows colours in the pretty style.
	Color bool

	// Redact hides credentials in messages and attributes; default [Redact].
	Redact func(string) string
}

// New returns a logger. A line of the file is a JSON object with time, level,
// message, usually subsystem, and the attributes; see docs/protocol.md#logs-tail.
func New(c Config) *slog.Logger {
	if c.Redact == nil {
		c.Redact = Redact
	}
	var handlers []slog.Handler
	if c.File != nil {
		handlers = append(handlers, jsonHandler(c.File, c.Level, c.Redact))
	}
	if c.Console != nil {
		handlers = append(handlers, consoleHandler(c))
	}
	switch len(handlers) {
	case 0:
		return slog.New(slog.DiscardHandler)
	case 1:
		return slog.New(handlers[0])
	}
	return slog.New(slog.NewMultiHandler(handlers...))
}

// ParseLevel reads a level name of the configuration: silent, fatal, error,
// warn, info, debug or trace. The empty name is info.
func ParseLevel(name string) (slog.Level, error) {
	switch strings.ToLower(name) {
	case "silent":
		return LevelSilent, nil
	case "fatal":
		return LevelFatal, nil
	case "error":
		return slog.LevelError, nil
	case "warn":
		return slog.LevelWarn, nil
	case "info", "":
		return slog.LevelInfo, nil
	case "debug":
		return slog.LevelDebug, nil
	case "trace":
		return LevelTrace, nil
	}
	return 0, fmt.Errorf("parse log level %q: want silent, fatal, error, warn, info, debug or trace", name)
}

// LevelName is the reverse of [ParseLevel].
func LevelName(l slog.Level) string {
	switch {
	case l < slog.LevelDebug:
		return "trace"
	case l < slog.LevelInfo:
		return "debug"
	case l < slog.LevelWarn:
		return "info"
	case l < slog.LevelError:
		return "warn"
	case l < LevelFatal:
		return "error"
	case l < LevelSilent:
		return "fatal"
	}
	return "silent"
}

func jsonHandler(w io.Writer, level slog.Leveler, redact func(string) string) slog.Handler {
	return slog.NewJSONHandler(w, &slog.HandlerOptions{
		Level: levelOr(level),
		ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
			if len(groups) == 0 {
				switch a.Key {
				case slog.TimeKey:
					a.Value = slog.StringValue(a.Value.Time().UTC().Format("2006-01-02T15:04:05.000Z"))
					return a
				case slog.LevelKey:
					a.Value = levelValue(a.Value)
					return a
				case slog.MessageKey:
					a.Key = "message"
				}
			}
			return redactAttr(a, redact, true)
		},
	})
}

func consoleHandler(c Config) slog.Handler {
	style := cmp.Or(c.ConsoleStyle, StyleCompact)
	if style == StyleJSON {
		return jsonHandler(c.Console, c.ConsoleLevel, c.Redact)
	}
	return tint.NewTextHandler(c.Console, &tint.Options{
		Level:      levelOr(c.ConsoleLevel),
		TimeFormat: time.TimeOnly,
		NoColor:    style != StylePretty || !c.Color,
		ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
			if len(groups) == 0 && (a.Key == slog.TimeKey || a.Key == slog.LevelKey) {
				return a
			}
			return redactAttr(a, c.Redact, false)
		},
	})
}

func levelOr(l slog.Leveler) slog.Leveler {
	if l == nil {
		return slog.LevelInfo
	}
	return l
}

func levelValue(v slog.Value) slog.Value {
	if l, ok := v.Any().(slog.Level); ok {
		return slog.StringValue(LevelName(l))
	}
	return v
}

// redactAttr turns everything that may hold text into redacted text; with
// nested, structures stay structures.
func redactAttr(a slog.Attr, redact func(string) string, nested bool) slog.Attr {
	switch a.Value.Kind() {
	case slog.KindString:
		a.Value = slog.StringValue(redactText(a.Key, a.Value.String(), redact))
	case slog.KindAny:
		switch v := a.Value.Any().(type) {
		case nil:
		case error:
			a.Value = slog.StringValue(redact(v.Error()))
		case fmt.Stringer:
			a.Value = slog.StringValue(redactText(a.Key, v.String(), redact))
		default:
			a.Value = redactJSON(a.Key, v, redact, nested)
		}
	}
	return a
}

func redactText(key, text string, redact func(string) string) string {
	if text != "" && SensitiveKey(key) {
		return Hidden
	}
	return redact(text)
}

// redactJSON keeps the structure of a value where hiding its secrets allows that.
func redactJSON(key string, v any, redact func(string) string, nested bool) slog.Value {
	data, err := json.Marshal(v)
	if err != nil {
		return slog.StringValue(redactText(key, fmt.Sprint(v), redact))
	}
	text := redactText(key, string(data), redact)
	if !nested || !json.Valid([]byte(text)) {
		return slog.StringValue(text)
	}
	return slog.AnyValue(json.RawMessage(text))
}

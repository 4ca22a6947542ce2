package protocol

// TTSStatusResult is the state of speech output.
type TTSStatusResult struct {
	Enabled           bool     `json:"enabled"`
	Auto              string   `json:"auto"`
	Provider          string   `json:"provider"`
	FallbackProvider  *string  `json:"fallbackProvider"`
	FallbackProviders []string `json:"fallbackProviders"`
	PrefsPath         string   `json:"prefsPath"`
	HasOpenAIKey      bool     `json:"hasOpenAIKey"`
	HasElevenLabsKey  bool     `json:"hasElevenLabsKey"`
	EdgeEnabled       bool     `json:"edgeEnabled"`
}

// TTSEnabledResult answers tts.enable and tts.disable.
type TTSEnabledResult struct {
	Enabled bool `json:"enabled"`
}

// TTSSetProviderParams chooses a speech provider. A wrong one has an error of its own.
type TTSSetProviderParams struct {
	_        struct{} `schema:"any"`
	Provider string   `json:"provider,omitempty"`
}

// TTSSetProviderResult repeats the provider.
type TTSSetProviderResult struct {
	Provider string `json:"provider"`
}

// TTSConvertParams speaks a text. A missing text has an error of its own.
type TTSConvertParams struct {
	_       struct{} `schema:"any"`
	Text    string   `json:"text,omitempty"`
	Channel string   `json:"channel,omitempty"`
}

// TTSConvertResult is the spoken text.
type TTSConvertResult struct {
	AudioPath       string `json:"audioPath"`
	Provider        string `json:"provider"`
	OutputFormat    string `json:"outputFormat"`
	VoiceCompatible bool   `json:"voiceCompatible"`
}

// TTSProvidersResult lists the speech providers.
type TTSProvidersResult struct {
	Providers []TTSProvider `json:"providers"`
	Active    string        `json:"active"`
}

// TTSProvider is one speech provider.
type TTSProvider struct {
	ID         string   `json:"id"`
	Name       string   `json:"name"`
	Configured bool     `json:"configured"`
	Models     []string `json:"models"`
	Voices     []string `json:"voices,omitempty"`
}

// VoiceWakeSetParams sets the wake words. Anything but an array of strings has
// an error of its own.
type VoiceWakeSetParams struct {
	_        struct{} `schema:"any"`
	Triggers []string `json:"triggers,omitempty"`
}

// VoiceWake is the list of wake words: the result of voicewake.get and .set and
// the payload of voicewake.changed.
type VoiceWake struct {
	Triggers []string `json:"triggers"`
}

// TalkModeParams switches talk mode.
type TalkModeParams struct {
	Enabled bool   `json:"enabled"`
	Phase   string `json:"phase,omitempty"`
}

// TalkMode is the state of talk mode: the result of talk.mode and its event.
type TalkMode struct {
	Enabled bool    `json:"enabled"`
	Phase   *string `json:"phase"`
	Ts      int64   `json:"ts"`
}

package config

import (
	"encoding/json"
	"testing"
)

func TestJSONSchema(t *testing.T) {
	s := JSONSchema()
	data, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	if len(data) < 50000 {
		t.Errorf("schema has only %d bytes", len(data))
	}
	var tree any
	if err := json.Unmarshal(data, &tree); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]any{
		"$schema": "http://json-schema.org/draft-07/schema#",
		"properties.gateway.properties.port.maximum":                                                     65535.0,
		"properties.gateway.properties.bind.enum.0":                                                      "auto",
		"properties.gateway.additionalProperties":                                                        false,
		"properties.agents.properties.list.items.required.0":                                             "id",
		"properties.agents.properties.list.items.properties.model.anyOf.0.type":                          "string",
		"properties.ui.properties.assistant.properties.name.maxLength":                                   50.0,
		"properties.ui.properties.seamColor.type":                                                        "string",
		"properties.models.properties.providers.additionalProperties.properties.baseUrl.minLength":       1.0,
		"properties.auth.properties.cooldowns.properties.billingMaxHours.exclusiveMinimum":               0.0,
		"properties.env.additionalProperties.type":                                                       "string",
		"properties.gateway.properties.controlUi.properties.enabled.type":                                "boolean",
		"properties.agents.properties.defaults.properties.compaction.properties.maxHistoryShare.minimum": 0.1,
	} {
		if got := at(tree, path); got != want {
			t.Errorf("%s = %v, want %v", path, got, want)
		}
	}
}

func TestHints(t *testing.T) {
	hints := Hints()
	for path, want := range map[string]Hint{
		"gateway":                           {Label: "Gateway", Group: "Gateway", Order: 10},
		"gateway.auth.token":                {Label: "Token", Sensitive: true},
		"gateway.port":                      {Label: "Port"},
		"models.providers.*.apiKey":         {Label: "Api key", Sensitive: true},
		"models.providers.*.headers.*":      {Sensitive: true},
		"models.providers.*.models.*.id":    {Label: "Id"},
		"agents.list.*.model.primary":       {Label: "Primary"},
		"agents.defaults.bootstrapMaxChars": {Label: "Bootstrap max chars"},
		"meta.lastTouchedAt":                {Label: "Last touched at", Advanced: true},
	} {
		if got := hints[path]; got != want {
			t.Errorf("hint of %s = %+v, want %+v", path, got, want)
		}
	}
	for key, want := range map[string]string{"dmScope": "Dm scope", "userURL": "User URL", "x": "X", "$schema": "Schema", "canvasHost": "Canvas host"} {
		if got := label(key); got != want {
			t.Errorf("label(%q) = %q, want %q", key, got, want)
		}
	}
}

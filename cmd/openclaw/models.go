package main

import (
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"openclaw/internal/cli"
	"openclaw/internal/model"
)

// modelsCommand shows models and their credentials. See docs/commands/models.md.
func modelsCommand(p *program) *cobra.Command {
	var f modelStatusFlags
	cmd := &cobra.Command{
		Use:   "models",
		Short: "Show which models are used, and whether they can be",
		Args:  noArgs,
		RunE:  func(*cobra.Command, []string) error { return p.modelsStatus(&f) },
	}
	cmd.Flags().BoolVar(&f.json, "status-json", false, "print the status as JSON")
	cmd.Flags().BoolVar(&f.plain, "status-plain", false, "print the default model alone")
	cmd.Flags().StringVar(&f.agent, "agent", "", "the agent whose credentials count")
	cmd.AddCommand(modelsListCommand(p), modelsStatusCommand(p))
	return cmd
}

// modelRow is one model as --json prints it.
type modelRow struct {
	Key           string   `json:"key"`
	Name          string   `json:"name"`
	Input         string   `json:"input"`
	ContextWindow int      `json:"contextWindow"`
	Local         bool     `json:"local"`
	Available     bool     `json:"available"`
	Tags          []string `json:"tags"`
	Missing       bool     `json:"missing"`

	ref model.Ref
}

func modelsListCommand(p *program) *cobra.Command {
	var all, local, asJSON, plain bool
	var provider string
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the models in use, or all known ones",
		Args:  noArgs,
		RunE: func(*cobra.Command, []string) error {
			rows := p.modelRows(all || provider != "")
			rows = slices.DeleteFunc(rows, func(r modelRow) bool {
				return local && !r.Local || provider != "" && r.ref.Provider != model.NormalizeProvider(provider)
			})
			switch {
			case asJSON:
				return p.io.JSON(struct {
					Count  int        `json:"count"`
					Models []modelRow `json:"models"`
				}{len(rows), rows})
			case plain:
				for _, r := range rows {
					fmt.Fprintln(p.io.Out, r.Key)
				}
				return nil
			}
			return p.printModels(rows)
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "every known model")
	cmd.Flags().BoolVar(&local, "local", false, "only models served on this machine")
	cmd.Flags().StringVar(&provider, "provider", "", "every known model of one vendor")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the models as JSON")
	cmd.Flags().BoolVar(&plain, "plain", false, "print the references alone")
	return cmd
}

// modelRows lists the models in use in the order in which they matter, then, on
// request, all others. CLI-028.
func (p *program) modelRows(all bool) []modelRow {
	m := newModels(p.paths, p.snapshot)
	tags, order := p.modelTags(m)
	rows := make([]modelRow, 0, len(order))
	for _, ref := range order {
		rows = append(rows, modelRowOf(m, ref, tags[ref]))
	}
	if all {
		for _, info := range m.base.List() {
			if _, listed := tags[info.Ref]; !listed {
				rows = append(rows, modelRowOf(m, info.Ref, nil))
			}
		}
	}
	return rows
}

// modelTags says for each model in use what it is used as.
func (p *program) modelTags(m *models) (tags map[model.Ref][]string, order []model.Ref) {
	c := p.snapshot().Config
	tags = map[model.Ref][]string{}
	add := func(ref model.Ref, tag string) {
		if _, listed := tags[ref]; !listed {
			order = append(order, ref)
		}
		if !slices.Contains(tags[ref], tag) {
			tags[ref] = append(tags[ref], tag)
		}
	}
	parse := func(text, tag string) {
		if ref, err := m.base.Parse(text); text != "" && err == nil {
			add(ref, tag)
		}
	}
	add(m.base.Default(), "default")
	for i, text := range c.Agents.Defaults.Model.Fallbacks {
		parse(text, "fallback#"+strconv.Itoa(i+1))
	}
	parse(c.Agents.Defaults.ImageModel.Primary, "image")
	for i, text := range c.Agents.Defaults.ImageModel.Fallbacks {
		parse(text, "img-fallback#"+strconv.Itoa(i+1))
	}
	for _, text := range slices.Sorted(maps.Keys(c.Agents.Defaults.Models)) {
		parse(text, "configured")
		if alias := c.Agents.Defaults.Models[text].Alias; alias != "" {
			parse(text, "alias:"+alias)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(c.Models.Providers)) {
		for _, pm := range c.Models.Providers[id].Models {
			add(model.Ref{Provider: model.NormalizeProvider(id), ID: pm.ID}, "configured")
		}
	}
	return tags, order
}

func modelRowOf(m *models, ref model.Ref, tags []string) modelRow {
	row := modelRow{Key: ref.String(), Name: ref.ID, Input: "text", Tags: slices.Clone(tags), ref: ref}
	if row.Tags == nil {
		row.Tags = []string{}
	}
	info, err := m.base.Lookup(ref)
	if err != nil {
		row.Missing = true
		row.Tags = append(row.Tags, "missing")
		return row
	}
	row.Name = cmp.Or(info.Name, ref.ID)
	row.Input = cmp.Or(strings.Join(info.Input, "+"), "text")
	row.ContextWindow = info.ContextWindow
	_, err = m.base.Resolve(ref.String())
	row.Available = err == nil
	row.Local = info.API == model.APIOffline || localServer(m.settings().Providers[ref.Provider].BaseURL)
	return row
}

// localServer reports whether a model server runs on this machine.
func localServer(base string) bool {
	u, err := url.Parse(base)
	return err == nil && u.Host != "" && target{URL: u.String()}.loopback()
}

func (p *program) printModels(rows []modelRow) error {
	if len(rows) == 0 {
		p.io.Say("no models")
		return nil
	}
	table := cli.NewTable(cli.Column{Title: "Model", Max: 48}, cli.Column{Title: "Input"}, cli.Column{Title: "Ctx", Right: true},
		cli.Column{Title: "Local"}, cli.Column{Title: "Key"}, cli.Column{Title: "Tags"})
	for _, r := range rows {
		table.Row(r.Key, r.Input, cli.Tokens(r.ContextWindow), yesNo(r.Local), yesNo(r.Available), strings.Join(r.Tags, ","))
	}
	return table.Write(p.io.Out)
}

func yesNo(on bool) string {
	if on {
		return "yes"
	}
	return "no"
}

package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"handrail/guard/text"
)

// SchemaFile is the name of the schema that stands beside a configuration.
const SchemaFile = "config.schema.json"

// DefaultText is a configuration with every setting as a comment. schema is
// where editors find the schema, from the file.
func DefaultText(schema string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# yaml-language-server: $schema=%s\n", schema)
	paragraph(&b, "# ", "Handrail's configuration: $XDG_CONFIG_HOME/handrail/config.yaml (~/.config/handrail/config.yaml), or a file named by --config. "+
		"It must be yours, not writable by others, and outside every workspace. To set something, take the # away from its line and from those of its sections. "+
		"`handrail config check` reads the file, `handrail config show` prints what holds and where it comes from.")
	paragraph(&b, "# ", "A project's .handrail/config.yaml has the same settings, without roots, state, store, llm, http, principals and audit: it can tighten, and after `handrail trust` free hosts and set the fallback. "+
		"What "+ManagedFile+" sets, nobody loosens. HANDRAIL_PROFILE and the like (the setting's path in capitals) tighten too.")
	defaults(&b, tree(), "")
	return b.String()
}

func defaults(b *strings.Builder, fields []field, indent string) {
	for _, f := range fields {
		if indent == "" {
			b.WriteString("\n")
			paragraph(b, "# ", f.doc)
		} else {
			paragraph(b, "#"+indent+"# ", f.doc)
		}
		if f.fields != nil {
			fmt.Fprintf(b, "#%s%s:\n", indent, f.key)
			defaults(b, f.fields, indent+"  ")
			continue
		}
		fmt.Fprintf(b, "#%s%s: %s\n", indent, f.key, f.sample)
	}
}

// paragraph writes a text in lines of at most 100 columns, each after lead.
func paragraph(b *strings.Builder, lead, said string) {
	line := lead
	for _, word := range strings.Fields(said) {
		if len(line)+len(word) > 100 && line != lead {
			b.WriteString(strings.TrimRight(line, " ") + "\n")
			line = lead
		}
		line += word + " "
	}
	b.WriteString(strings.TrimRight(line, " ") + "\n")
}

// Show writes every setting as it holds, with where it comes from. What is
// written can be read again, but for secrets.
func (c *Config) Show(w io.Writer) error {
	var b strings.Builder
	c.show(&b, tree(), "", "")
	_, err := io.WriteString(w, b.String())
	return err
}

func (c *Config) show(b *strings.Builder, fields []field, prefix, indent string) {
	for _, f := range fields {
		path := prefix + f.key
		if f.fields != nil {
			fmt.Fprintf(b, "%s%s:\n", indent, f.key)
			c.show(b, f.fields, path+".", indent+"  ")
			continue
		}
		value, from := text.Visible(f.show(c)), c.from[path]
		switch {
		case value == "" || value == `""` || value == "0" && f.schema["minimum"] != 0 || value == "0s":
			fmt.Fprintf(b, "%s#%s: %s\n", indent, f.key, unset(path))
			continue
		case from == "":
			from = "default"
		}
		mark := ""
		if strings.HasPrefix(value, "(") {
			mark = "#"
		}
		fmt.Fprintf(b, "%s%s%s: %s  # %s\n", indent, mark, f.key, value, from)
	}
}

// Schema is the JSON Schema of the configuration.
func Schema() []byte {
	root := object(tree())
	root["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	root["title"] = "Handrail's configuration"
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(root); err != nil { // maps of plain values always marshal
		return []byte("{}\n")
	}
	return b.Bytes()
}

func object(fields []field) schema {
	properties := schema{}
	for _, f := range fields {
		part := schema{}
		if f.fields != nil {
			part = object(f.fields)
		}
		for k, v := range f.schema {
			part[k] = v
		}
		part["description"] = f.doc
		properties[f.key] = part
	}
	return schema{"type": "object", "additionalProperties": false, "properties": properties}
}

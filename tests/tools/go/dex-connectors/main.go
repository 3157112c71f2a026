// Judges settings of connectors by Dex's own types.
//
//	dex-connectors fields        prints the settings of each connector type, a line of JSON for each: {"type": "ldap",
//	                             "path": ["userSearch", "baseDN"], "kind": "text"}
//	dex-connectors < CONNECTORS  reads a line of JSON for each: {"type": "ldap", "config": {...}}; prints in the same
//	                             order {"error": "..."}, empty for settings that all have a field of their type
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"reflect"
	"sort"
	"strings"

	"github.com/dexidp/dex/server"
)

type setting struct {
	Type string   `json:"type"`
	Path []string `json:"path"`
	Kind string   `json:"kind"`
}

// settings calls a function with each setting of a struct, and with those of structs in it.
func settings(of reflect.Type, above []string, yield func(path []string, kind string)) {
	for i := 0; i < of.NumField(); i++ {
		field := of.Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == "" {
			name = field.Name
		}
		if !field.IsExported() || name == "-" {
			continue
		}
		path := append(append([]string{}, above...), name)
		value := field.Type
		for value.Kind() == reflect.Pointer {
			value = value.Elem()
		}
		list := value.Kind() == reflect.Slice
		switch {
		case list && value.Elem().Kind() == reflect.Uint8:
			yield(path, "bytes")
			continue
		case list:
			value = value.Elem()
		}
		kind := map[reflect.Kind]string{reflect.String: "text", reflect.Bool: "flag", reflect.Struct: "fields"}[value.Kind()]
		if kind == "" {
			kind = value.Kind().String()
		}
		if list {
			kind = "list of " + kind
		}
		yield(path, kind)
		if value.Kind() == reflect.Struct {
			settings(value, path, yield)
		}
	}
}

func judge(kind string, config json.RawMessage) error {
	create, ok := server.ConnectorsConfig[kind]
	if !ok {
		return fmt.Errorf("unknown connector type %q", kind)
	}
	decoder := json.NewDecoder(bytes.NewReader(config))
	// Dex itself ignores them.
	decoder.DisallowUnknownFields()
	return decoder.Decode(create())
}

func run() error {
	answers := json.NewEncoder(os.Stdout)
	if len(os.Args) > 1 && os.Args[1] == "fields" {
		var kinds []string
		for kind := range server.ConnectorsConfig {
			kinds = append(kinds, kind)
		}
		sort.Strings(kinds)
		var failed error
		for _, kind := range kinds {
			of := reflect.TypeOf(server.ConnectorsConfig[kind]()).Elem()
			settings(of, nil, func(path []string, shape string) {
				if err := answers.Encode(setting{kind, path, shape}); err != nil {
					failed = err
				}
			})
			if of.NumField() == 0 {
				failed = answers.Encode(setting{Type: kind})
			}
		}
		return failed
	}
	connectors := json.NewDecoder(os.Stdin)
	for {
		var connector struct {
			Type   string          `json:"type"`
			Config json.RawMessage `json:"config"`
		}
		if err := connectors.Decode(&connector); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		answer := map[string]string{"error": ""}
		if err := judge(connector.Type, connector.Config); err != nil {
			answer["error"] = err.Error()
		}
		if err := answers.Encode(answer); err != nil {
			return err
		}
	}
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "dex-connectors:", err)
		os.Exit(1)
	}
}

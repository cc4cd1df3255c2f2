// Command genschema writes the JSON Schema of the server's configuration file, for editors and for people.
//
// It reads the types in the server's source: fields make the properties and comments their descriptions.
// What neither can say is in a table of rules.
package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/notify/message"
)

//go:generate go run . -out ../../../docs/schemas/serve.json

// sources are the Go files with the type Config and the types of its fields.
var sources = []string{"../config.go", "../config_scheduler.go", "../config_notifications.go", "../config_resourcegraph.go", "../../forge/connection.go", "../../forge/person.go"}

func main() {
	out := flag.String("out", "", "`file` the schema is written to")
	flag.Parse()
	text, err := generate()
	if err == nil {
		err = os.WriteFile(*out, text, 0o644)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "genschema:", err)
		os.Exit(1)
	}
}

// schema is a JSON Schema of draft 7, the one that yaml-language-server knows best.
// A map prints with sorted keys, so that the file is the same on every run.
type schema map[string]any

// id is where the schema can be fetched from.
const id = "https://raw.githubusercontent.com/kalypso-io/kalypso/main/docs/schemas/serve.json"

// rules are what the server's Check wants and the types do not say, by type, or by type and property.
var rules = map[string]schema{
	// The command line may name the control planes as well.
	"Config":                {"required": []string{}},
	"Config.url":            {"pattern": "^https?://[^@]+$"},
	"Config.workers":        {"minimum": 0},
	"Connection":            {"oneOf": []schema{having("tokenEnv"), having("tokenFile"), having("app")}},
	"Connection.kind":       {"enum": []forge.Kind{forge.GitHub, forge.GitLab, forge.Gitea, forge.AzureDevOps, forge.Bitbucket, forge.BitbucketServer}},
	"Connection.url":        {"pattern": "^https?://[^@]+$"},
	"App.id":                {"minimum": 1},
	"App.installationID":    {"minimum": 1},
	"App.privateKeyFile":    {"minLength": 1},
	"SchedulerConfig":       {"oneOf": []schema{having("command"), having("url"), having("placementDecisions")}},
	"SchedulerConfig.url":   {"pattern": "^https?://[^@]+$"},
	"ReceiverConfig":        {"oneOf": []schema{having("url"), having("urlEnv"), having("urlFile"), having("email")}},
	"ReceiverConfig.kind":   {"enum": []string{"webhook", "slack", "teams", "flux", "email"}},
	"ReceiverConfig.url":    {"pattern": "^https?://[^@]+$"},
	"EmailConfig.tls":       {"enum": []string{"starttls", "implicit", "none"}},
	"EmailConfig.to":        {"minItems": 1},
	"RouteConfig.kinds":     {"items": schema{"enum": message.Kinds}},
	"RouteConfig.severity":  {"enum": []message.Severity{message.Info, message.Error}},
	"RouteConfig.receivers": {"minItems": 1},
	"VerifyCredential":      {"oneOf": []schema{having("tokenEnv"), {"required": []string{"userEnv", "passwordEnv"}}}},
	"ResourceGraphConfig":   {"oneOf": []schema{having("subscriptions"), having("managementGroups")}},
	"RegistryConfig.size":   {"pattern": "^[0-9]"},
	"LogConfig.format":      {"enum": []string{"text", "json"}},
	"LogConfig.level":       {"enum": []string{"debug", "info", "warn", "error"}},
}

func having(property string) schema { return schema{"required": []string{property}} }

// generate returns the schema of the type Config.
func generate() ([]byte, error) {
	types, err := parseTypes(sources)
	if err != nil {
		return nil, err
	}
	root, err := types.object("Config")
	if err != nil {
		return nil, err
	}
	root["$schema"], root["$id"], root["title"] = "http://json-schema.org/draft-07/schema#", id, "Configuration of kalypso serve"

	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	err = encoder.Encode(root)
	return text.Bytes(), err
}

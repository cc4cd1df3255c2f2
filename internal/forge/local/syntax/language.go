package syntax

import (
	"path"
	"strings"
)

// language says how texts of a language are highlighted.
type language struct {
	// comments begin a comment up to the end of the line, blocks begin and end one.
	comments []string
	blocks   [][2]string
	// quotes begin and end strings; raw is set if those in backquotes span lines.
	quotes   string
	raw      bool
	keywords []string
	// keys are the signs that follow a name at the beginning of a line.
	keys string
	// json is set if strings before a colon are names, headings if lines with # are headings, markup if there are tags.
	json, headings, markup bool
}

// languageOf returns the language of a file; nil if it is not known.
func languageOf(file string) *language {
	switch strings.TrimPrefix(path.Ext(file), ".") {
	case "yaml", "yml":
		return &language{comments: []string{"#"}, quotes: `"'`, keywords: words("true false null"), keys: ":"}
	case "tpl", "gotmpl":
		return &language{
			comments: []string{"#"}, blocks: [][2]string{{"{{/*", "*/}}"}, {"{{- /*", "*/ -}}"}}, quotes: "\"'`", raw: true, keys: ":",
			keywords: words("and block break continue define else end false if include nil not or range template true with"),
		}
	case "json":
		return &language{quotes: `"`, keywords: words("true false null"), json: true}
	case "toml", "ini", "properties", "env":
		return &language{comments: []string{"#", ";"}, quotes: `"'`, keywords: words("true false"), keys: "="}
	case "hcl", "tf":
		return &language{
			comments: []string{"#", "//"}, blocks: slashes, quotes: `"`, keys: "=",
			keywords: words("data false for in locals module null output provider resource terraform true variable"),
		}
	case "md", "markdown":
		return &language{blocks: angles, quotes: "`", headings: true}
	case "html", "htm", "xml", "svg":
		return &language{blocks: angles, quotes: `"'`, markup: true}
	case "sh", "bash", "zsh":
		return &language{
			comments: []string{"#"}, quotes: `"'`,
			keywords: words("case do done elif else esac exit export fi for function if in local return set then trap while"),
		}
	case "py":
		return &language{
			comments: []string{"#"}, quotes: `"'`,
			keywords: words("and as assert async await break class continue def del elif else except False finally for from global if import in is lambda None not or pass raise return True try while with yield"),
		}
	case "go":
		return &language{
			comments: []string{"//"}, blocks: slashes, quotes: "\"'`", raw: true,
			keywords: words("break case chan const continue default defer else fallthrough false for func go goto if import interface iota map nil package range return select struct switch true type var"),
		}
	case "js", "mjs", "ts", "tsx", "jsx":
		return &language{
			comments: []string{"//"}, blocks: slashes, quotes: "\"'`", raw: true,
			keywords: words("async await break case catch class const continue default delete do else export extends false finally for from function if import in instanceof interface let new null of return switch this throw true try type typeof undefined var void while"),
		}
	case "java", "cs", "kt":
		return &language{
			comments: []string{"//"}, blocks: slashes, quotes: `"'`,
			keywords: words("abstract async await break case catch class const continue default do else enum extends false final finally for fun if implements import interface internal namespace new null override package private protected public readonly return static string super switch this throw true try using val var void while"),
		}
	case "mk":
		return makefile()
	}
	switch {
	case file == "Makefile":
		return makefile()
	case file == "Dockerfile" || file == "Containerfile" || strings.HasPrefix(file, "Dockerfile."):
		return &language{
			comments: []string{"#"}, quotes: `"'`,
			keywords: words("ADD ARG AS CMD COPY ENTRYPOINT ENV EXPOSE FROM HEALTHCHECK LABEL ONBUILD RUN SHELL STOPSIGNAL USER VOLUME WORKDIR"),
		}
	}
	return nil
}

var (
	slashes = [][2]string{{"/*", "*/"}}
	angles  = [][2]string{{"<!--", "-->"}}
)

func makefile() *language {
	return &language{comments: []string{"#"}, quotes: `"'`, keywords: words("define else endef endif export ifdef ifeq ifndef ifneq include"), keys: ":=?+"}
}

func words(text string) []string { return strings.Fields(text) }

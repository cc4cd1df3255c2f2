package setting

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/kalypso-io/kalypso/internal/deliver"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/fleet/editing"
	"github.com/kalypso-io/kalypso/internal/serve/api"
	"github.com/kalypso-io/kalypso/internal/serve/web"
	"github.com/kalypso-io/kalypso/internal/serve/web/trial"
	"github.com/kalypso-io/kalypso/internal/text/schemas"
)

// view is the page of a form.
type view struct {
	// Value is the answer of the operation, for clients that ask for JSON.
	Value any
	// Title is the heading, Section the navigation entry, Here the address of this form, Back that of the page above, with its name.
	Title, Section, Here, Back, BackName string
	// Action is the address to send the form to, and Hidden its parameters.
	Action string
	Hidden []web.Link
	// Places are the targets, folders or ConfigMaps that have a form, in groups. Chosen reports that this is the form of one.
	Places []places
	Chosen bool
	// File, Branch and Repository are what gets the values; For says which targets or assignments the values are for.
	File, Branch, Repository, For string
	Fields                        []*field
	// More reports that there are fields that are not shown.
	More bool
	// Extra is another value, whose key the user enters; nil if there can be none.
	Extra *field
	// MaySet tells whether the user has the role to set values.
	MaySet bool
	// Message is the message of the commit that the user entered.
	Message string
	// Note is an error about the form as a whole, and Problems have more.
	Note     string
	Problems []fleet.Problem
	// Done is the preview or the result; nil before.
	Done *done
	// Form is the form's token, SignIn the address to sign in.
	Form, SignIn string

	changed []*field
	// set sets the changed values, or previews them.
	set func(message string, preview bool) (*done, error)
	// words are the command line without the values.
	words []string
}

// places is a group of places.
type places struct {
	Name  string
	Links []web.Link
}

// done is what values change, and where they were written.
type done struct {
	// Targets are the changes of an application, Plan is that of the platform.
	Targets []target
	Plan    *trial.Plan
	// Same means that the file has the values already.
	Same bool
	api.ValuesPlace

	problems []fleet.Problem
}

// target is a target with the values that change.
type target struct {
	Name   string
	Values []change
	// Restarts are the workloads that restart, Configs the ConfigMaps and Secrets whose data change.
	Restarts []string
	Configs  []deliver.DataChange
}

type change struct {
	Key, Was, Is string
	Over         []string
	// From is where the value comes from that applies after another one is removed.
	From string
}

// field is a value in the form.
type field struct {
	schemas.Field
	// ID is unique on the page.
	ID string
	// Input is what the user entered or, at first, Was: the value that the form was made with.
	Input, Was string
	// Set means that there is a value, and Own that the file itself has it.
	Set, Own bool
	Options  []string
	// Lines is the number of lines of the input; 0 for one that cannot have several.
	Lines int
	// From says where the value comes from; Over what it overrides, and By what overrides it.
	From, At   string
	Over, By   []string
	Expression string
	Missing    string
	Hidden     bool
	// Locked means that the user may not set it; Editors are those who may.
	Locked  bool
	Editors string
	// Remove means that the user removes the value, so that Then applies: a value that it overrides. It is empty if nothing is set then.
	Remove bool
	Then   string
	// Error is what is wrong with the input.
	Error string

	// literal means that the input is a text as it is; value is what it means.
	literal bool
	value   any
}

const (
	maxMessage = 2000
	maxInput   = 64 << 10
)

// prepare completes a field.
func (f *field) prepare(i int) *field {
	f.ID, f.Input = "f"+strconv.Itoa(i), f.Was
	for _, a := range f.Allowed {
		f.Options = append(f.Options, textOf(a))
	}
	if len(f.Types) == 1 && f.Types[0] == "boolean" && len(f.Options) == 0 {
		f.Options = []string{"true", "false"}
	}
	if slices.ContainsFunc(f.Types, func(t string) bool { return t == "array" || t == "object" }) || strings.Contains(f.Was, "\n") || len(f.Was) > 80 {
		f.Lines = min(max(3, strings.Count(f.Was, "\n")+1), 12)
	}
	return f
}

// textOf formats a value as a user enters it.
func textOf(value any) string {
	if text, ok := value.(string); ok {
		return text
	}
	text, err := json.Marshal(value)
	if err != nil {
		return ""
	}
	return string(text)
}

// read takes what the user entered.
func (v *view) read(given url.Values) {
	v.Message = strings.TrimSpace(cut(given.Get("message"), maxMessage))
	for _, f := range v.Fields {
		if f.Locked || !given.Has("v:"+f.Key) {
			continue
		}
		f.Input, f.Remove = lines(given.Get("v:"+f.Key)), f.Removable() && given.Has("remove:"+f.Key)
		if was := lines(given.Get("was:" + f.Key)); f.Input != was {
			if was != f.Was {
				f.Error = "The value has changed since this page was loaded. Now it is " + strconv.Quote(cut(f.Was, 200)) + ". Check yours, and send it again."
			}
			if f.Remove {
				f.Error = "Change the value or remove it, not both."
			}
			v.take(f)
		} else {
			if f.Input = f.Was; f.Remove {
				v.removeIf(f, was)
			}
		}
	}
	if v.Extra == nil {
		return
	}
	v.Extra.Key, v.Extra.Input = strings.TrimSpace(given.Get("extra")), lines(given.Get("extraValue"))
	if v.Extra.Key == "" && v.Extra.Input == "" {
		return
	}
	if slices.ContainsFunc(v.Fields, func(f *field) bool { return f.Key == v.Extra.Key }) {
		v.Extra.Error = "This key has a field above."
	} else if _, err := editing.Path(v.Extra.Key); err != nil {
		v.Extra.Error = sentence(err.Error())
	}
	v.take(v.Extra)
}

// removeIf adds a value to be removed, if it still is what the user saw.
func (v *view) removeIf(f *field, seen string) {
	if seen != f.Was {
		f.Error = "The value has changed since this page was loaded. Check it, and send the form again."
		return
	}
	v.changed = append(v.changed, f)
}

// Touched reports whether the user changed the value.
func (f *field) Touched() bool { return f.Remove || f.Input != f.Was || f.Error != "" }

// Numeric reports whether the value must be a number.
func (f *field) Numeric() bool {
	return len(f.Types) > 0 && !slices.ContainsFunc(f.Types, func(t string) bool { return t != "integer" && t != "number" })
}

// typeNames says what to enter for a JSON type.
var typeNames = map[string]string{
	"string": "a text", "integer": "a whole number", "number": "a number", "boolean": "true or false", "array": "a list", "object": "a map", "null": "null",
}

// wrongType returns what is wrong with the type of a value; empty if the field allows it.
func (f *field) wrongType() string {
	var names []string
	for _, t := range f.Types {
		if isType(f.value, t) {
			return ""
		}
		names = append(names, cmp.Or(typeNames[t], t))
	}
	if len(names) == 0 {
		return ""
	}
	return "Enter " + strings.Join(names, " or ") + "."
}

// isType reports whether a value has a JSON type.
func isType(value any, name string) bool {
	switch v := value.(type) {
	case nil:
		return name == "null"
	case string:
		return name == "string"
	case bool:
		return name == "boolean"
	case int, int64, uint64:
		return name == "integer" || name == "number"
	case float64:
		return name == "number" || name == "integer" && v == math.Trunc(v)
	case []any:
		return name == "array"
	case map[string]any:
		return name == "object"
	}
	return true
}

// Removable reports whether the user can remove the value: the file has it.
func (f *field) Removable() bool { return f.Own && f.Set && !f.Locked }

// take adds a changed value, or says what is wrong with it.
func (v *view) take(f *field) {
	if f.Error == "" {
		f.Error = f.parse()
	}
	if f.Error == "" {
		v.changed = append(v.changed, f)
	}
}

// parse reads the input. It returns what is wrong with it.
func (f *field) parse() string {
	if len(f.Input) > maxInput {
		return "The value is too long."
	}
	if !utf8.ValidString(f.Input) {
		return "The value is not valid text."
	}
	for i, option := range f.Options {
		if option == f.Input && i < len(f.Allowed) {
			f.value = f.Allowed[i]
			return ""
		}
	}
	switch {
	case f.literal || f.Text():
		f.value = f.Input
		return ""
	case strings.TrimSpace(f.Input) == "":
		return "Enter a value."
	}
	n, err := editing.Value(f.Input)
	if err == nil {
		err = n.Decode(&f.value)
	}
	if err == nil {
		_, err = json.Marshal(f.value)
	}
	if err != nil {
		return "It cannot be read as YAML: " + sentence(err.Error()) + ` Put double quotes around a text.`
	}
	return f.wrongType()
}

// wrong reports whether an input is wrong.
func (v *view) wrong() bool {
	return v.Extra != nil && v.Extra.Error != "" || slices.ContainsFunc(v.Fields, func(f *field) bool { return f.Error != "" })
}

// refused shows why the API refused the values.
func (v *view) refused(p *api.Problem) {
	v.Note = strings.TrimSpace(sentence(p.Detail) + " " + sentence(p.Next))
	var problems []fleet.Problem
	for _, part := range p.Errors {
		problems = append(problems, fleet.Problem{Severity: fleet.SeverityError, Message: part.Message})
	}
	v.point(problems)
}

// point puts problems next to the fields that they are about. The others are about the form.
func (v *view) point(problems []fleet.Problem) {
	for _, p := range problems {
		about := func(f *field) bool {
			rest, ok := strings.CutPrefix(p.Message, f.Key)
			return ok && f.Key != "" && (rest == "" || rest[0] == ' ' || rest[0] == ':')
		}
		i := slices.IndexFunc(v.changed, about)
		if i < 0 {
			v.Problems = append(v.Problems, p)
			continue
		}
		if f := v.changed[i]; f.Error == "" {
			f.Error = sentence(p.Message)
		}
	}
	if v.Note == "" {
		v.Note = "Nothing was written. Correct the values below."
	}
}

// digest identifies the changes, so that only what was shown is written.
func (v *view) digest() string {
	h := sha256.New()
	for _, f := range v.changed {
		fmt.Fprintf(h, "%q %q %q %v;", f.Key, f.Was, f.Input, f.Remove)
	}
	return hex.EncodeToString(h.Sum(nil)[:12])
}

// Seen is the digest that a form carries after its preview.
func (v *view) Seen() string { return v.digest() }

// Changed reports whether values are changed.
func (v *view) Changed() int { return len(v.changed) }

// Command is the equivalent command line.
func (v *view) Command() string {
	if !v.Chosen {
		return ""
	}
	words := slices.Clone(v.words)
	for _, f := range v.changed {
		if f.Remove {
			words = append(words, "--remove", f.Key)
		} else {
			words = append(words, f.Key+"="+f.command())
		}
	}
	if len(v.changed) == 0 {
		words = append(words, "KEY=VALUE")
	}
	return web.CommandLine(append(words, "--pull-request")...)
}

// command returns the value as an argument of the command: YAML, unless it is literal.
func (f *field) command() string {
	if f.Secret || f.Hidden {
		return "VALUE"
	}
	text, ok := f.value.(string)
	if !ok || f.literal {
		return f.Input
	}
	if n, err := editing.Value(text); err == nil && n.ShortTag() == "!!str" && n.Value == text {
		return text
	}
	return textOf([]string{text})[1 : len(textOf([]string{text}))-1]
}

func lines(text string) string { return strings.ReplaceAll(text, "\r\n", "\n") }

func cut(text string, most int) string { return strings.ToValidUTF8(text[:min(len(text), most)], "") }

// sentence capitalizes a text and adds a full stop.
func sentence(text string) string {
	if text == "" {
		return ""
	}
	first, size := utf8.DecodeRuneInString(text)
	return strings.TrimSuffix(string(unicode.ToUpper(first))+text[size:], ".") + "."
}

package schema

import (
	"regexp"
	"sync"
)

// The grammars of rare formats.
const (
	// duration is that of RFC 3339, appendix A, where each unit is followed by the next smaller one.
	duration     = `P(?:\d+W|(?:` + durationDate + `)(?:` + durationTime + `)?|` + durationTime + `)`
	durationDate = `\d+D|\d+M(?:\d+D)?|\d+Y(?:\d+M(?:\d+D)?)?`
	durationTime = `T(?:\d+S|\d+M(?:\d+S)?|\d+H(?:\d+M(?:\d+S)?)?)`

	// jsonPointer is that of RFC 6901.
	jsonPointer         = `(?:/(?:[^/~]|~[01])*)*`
	relativeJSONPointer = `(?:0|[1-9]\d*)(?:#|` + jsonPointer + `)`

	// uriTemplate is that of RFC 6570.
	uriTemplate         = `(?:[^\x00- \x7f"%<>\\^\x60{|}]|` + percentEncoded + `|\{[+#./;?&=,!@|]?` + uriTemplateVariable + `(?:,` + uriTemplateVariable + `)*\})*`
	uriTemplateVariable = uriTemplateName + `(?:\.` + uriTemplateName + `)*(?:\*|:[1-9]\d{0,3})?`
	uriTemplateName     = `(?:\w|` + percentEncoded + `)+`
	percentEncoded      = `%[0-9A-Fa-f]{2}`
)

// hasGrammar returns the check for a regular expression, which is compiled when it is needed.
func hasGrammar(expression string) func([]byte) bool {
	compiled := sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(?:` + expression + `)$`) })
	return func(text []byte) bool { return compiled().Match(text) }
}

package validate_test

// suiteFile says how a file of the suite fares. With none of its fields set every case passes.
type suiteFile struct {
	refused    string            // keywords, of which each group has one that is refused
	groups     map[string]string // the same, for the only groups that are refused
	deviations map[string]string // cases that are judged otherwise, and why
}

// Why a case is judged otherwise than the suite says.
const (
	goInteger      = "the generated int64 holds no integer that is written 1.0, and none over 64 bits"
	goTime         = "time.Time holds no leap second, and reads no lower-case T and Z"
	plainEmail     = "no mailbox that people use has quotes or an address for a domain, and types.Email would lose the quotes"
	assertedFormat = "a format is an assertion: a value that breaks it would not decode"
)

// suiteTable has the files of draft 2020-12. "boolean" stands for schemas that are true or false,
// which OpenAPI documents do without.
var suiteTable = map[string]suiteFile{
	"additionalProperties.json": {
		groups: map[string]string{
			"additionalProperties being false does not allow other properties": "patternProperties",
			"additionalProperties with propertyNames":                          "propertyNames",
			"dependentSchemas with additionalProperties":                       "dependentSchemas",
			"non-ASCII pattern with additionalProperties":                      "patternProperties",
		},
	},
	"allOf.json": {
		groups: map[string]string{
			"allOf combined with anyOf, oneOf":       "multipleOf",
			"allOf with boolean schemas, all false":  "boolean",
			"allOf with boolean schemas, all true":   "boolean",
			"allOf with boolean schemas, some false": "boolean",
		},
	},
	"anchor.json":         {refused: "$ref"},
	"anyOf.json":          {refused: "anyOf"},
	"boolean_schema.json": {refused: "boolean"},
	"const.json": {
		groups: map[string]string{
			"const with null": "const",
			"float and integers are equal up to 64-bit representation limits": "const",
		},
	},
	"contains.json":          {refused: "contains"},
	"content.json":           {refused: "contentEncoding contentMediaType"},
	"default.json":           {},
	"defs.json":              {refused: "$ref"},
	"dependentRequired.json": {refused: "dependentRequired"},
	"dependentSchemas.json":  {refused: "dependentSchemas"},
	"dynamicRef.json":        {refused: "$ref $dynamicRef"},
	"enum.json": {
		groups: map[string]string{
			"empty enum": "enum",
		},
	},
	"exclusiveMaximum.json": {},
	"exclusiveMinimum.json": {},
	"format.json": {
		groups: map[string]string{
			"duration format":              "format",
			"hostname format":              "format",
			"idn-email format":             "format",
			"idn-hostname format":          "format",
			"ipv4 format":                  "format",
			"ipv6 format":                  "format",
			"iri format":                   "format",
			"iri-reference format":         "format",
			"json-pointer format":          "format",
			"regex format":                 "format",
			"relative-json-pointer format": "format",
			"time format":                  "format",
			"uri-reference format":         "format",
			"uri-template format":          "format",
		},
		deviations: map[string]string{
			"email format: invalid email string is only an annotation by default":         assertedFormat,
			"date format: invalid date string is only an annotation by default":           assertedFormat,
			"date-time format: invalid date-time string is only an annotation by default": assertedFormat,
			"uri format: invalid uri string is only an annotation by default":             assertedFormat,
			"uuid format: invalid uuid string is only an annotation by default":           assertedFormat,
		},
	},
	"if-then-else.json":            {refused: "if else then"},
	"infinite-loop-detection.json": {},
	"items.json": {
		groups: map[string]string{
			"items and subitems":                                          "prefixItems",
			"items does not look in applicators, valid case":              "prefixItems",
			"items with boolean schema (false)":                           "boolean",
			"items with boolean schema (true)":                            "boolean",
			"items with heterogeneous array":                              "prefixItems",
			"prefixItems validation adjusts the starting index for items": "prefixItems",
			"prefixItems with no additional items allowed":                "prefixItems",
		},
	},
	"maxContains.json":     {refused: "maxContains"},
	"maxItems.json":        {},
	"maxLength.json":       {},
	"maxProperties.json":   {},
	"maximum.json":         {},
	"minContains.json":     {refused: "minContains"},
	"minItems.json":        {},
	"minLength.json":       {},
	"minProperties.json":   {},
	"minimum.json":         {},
	"multipleOf.json":      {refused: "multipleOf"},
	"not.json":             {refused: "not"},
	"oneOf.json":           {refused: "oneOf"},
	"optional/anchor.json": {refused: "$ref"},
	"optional/bignum.json": {
		groups: map[string]string{
			"float comparison with high precision":                     "exclusiveMaximum",
			"float comparison with high precision on negative numbers": "exclusiveMinimum",
			"maximum integer comparison":                               "maximum",
			"minimum integer comparison":                               "minimum",
		},
		deviations: map[string]string{
			"integer: a bignum is an integer":          goInteger,
			"integer: a negative bignum is an integer": goInteger,
		},
	},
	"optional/cross-draft.json":                {refused: "$ref"},
	"optional/dependencies-compatibility.json": {refused: "dependencies"},
	"optional/dynamicRef.json":                 {refused: "$ref"},
	"optional/ecmascript-regex.json": {
		groups: map[string]string{
			"\\d in patternProperties matches [0-9], not unicode digits":         "patternProperties",
			"\\w in patternProperties matches [A-Za-z0-9_], not unicode letters": "patternProperties",
			"patternProperties with ASCII ranges":                                "patternProperties",
			"patternProperties with non-ASCII digits":                            "patternProperties",
			"patterns always use unicode semantics with patternProperties":       "patternProperties",
		},
	},
	"optional/float-overflow.json":   {refused: "multipleOf"},
	"optional/format-assertion.json": {refused: "$id"},
	"optional/format/date-time.json": {
		deviations: map[string]string{
			"validation of date-time strings: a valid date-time with a leap second, UTC":               goTime,
			"validation of date-time strings: a valid date-time with a leap second, with minus offset": goTime,
			"validation of date-time strings: case-insensitive T and Z":                                goTime,
		},
	},
	"optional/format/date.json":             {},
	"optional/format/duration.json":         {refused: "format"},
	"optional/format/ecmascript-regex.json": {refused: "format"},
	"optional/format/email.json": {
		deviations: map[string]string{
			"validation of e-mail addresses: a quoted string with a space in the local part is valid":      plainEmail,
			"validation of e-mail addresses: a quoted string with a double dot in the local part is valid": plainEmail,
			"validation of e-mail addresses: a quoted string with a @ in the local part is valid":          plainEmail,
			"validation of e-mail addresses: an IPv4-address-literal after the @ is valid":                 plainEmail,
			"validation of e-mail addresses: an IPv6-address-literal after the @ is valid":                 plainEmail,
		},
	},
	"optional/format/hostname.json":              {refused: "format"},
	"optional/format/idn-email.json":             {refused: "format"},
	"optional/format/idn-hostname.json":          {refused: "format"},
	"optional/format/ipv4.json":                  {refused: "format"},
	"optional/format/ipv6.json":                  {refused: "format"},
	"optional/format/iri-reference.json":         {refused: "format"},
	"optional/format/iri.json":                   {refused: "format"},
	"optional/format/json-pointer.json":          {refused: "format"},
	"optional/format/regex.json":                 {refused: "format"},
	"optional/format/relative-json-pointer.json": {refused: "format"},
	"optional/format/time.json":                  {refused: "format"},
	"optional/format/unknown.json":               {refused: "format"},
	"optional/format/uri-reference.json":         {refused: "format"},
	"optional/format/uri-template.json":          {refused: "format"},
	"optional/format/uri.json":                   {},
	"optional/format/uuid.json":                  {},
	"optional/id.json":                           {refused: "$ref"},
	"optional/no-schema.json":                    {},
	"optional/non-bmp-regex.json": {
		groups: map[string]string{
			"Proper UTF-16 surrogate pair handling: patternProperties": "patternProperties",
		},
	},
	"optional/refOfUnknownKeyword.json": {refused: "unknown-keyword unknown~1keyword $ref"},
	"optional/unknownKeyword.json":      {refused: "$ref"},
	"pattern.json":                      {},
	"patternProperties.json":            {refused: "patternProperties"},
	"prefixItems.json":                  {refused: "prefixItems"},
	"properties.json": {
		groups: map[string]string{
			"properties with boolean schema":                                  "boolean",
			"properties, patternProperties, additionalProperties interaction": "patternProperties",
		},
	},
	"propertyNames.json": {refused: "propertyNames"},
	"ref.json": {
		groups: map[string]string{
			"$id must be resolved against nearest parent, not just immediate parent": "$ref",
			"$id with file URI still resolves pointers - *nix":                       "$id",
			"$id with file URI still resolves pointers - windows":                    "$id",
			"$ref to boolean schema false":                                           "boolean",
			"$ref to boolean schema true":                                            "boolean",
			"Recursive references between schemas":                                   "$ref",
			"URN base URI with NSS":                                                  "$id",
			"URN base URI with URN and JSON pointer ref":                             "$ref",
			"URN base URI with URN and anchor ref":                                   "$ref",
			"URN base URI with q-component":                                          "$id",
			"URN base URI with r-component":                                          "$id",
			"URN ref with nested pointer ref":                                        "$ref",
			"empty tokens in $ref json-pointer":                                      "$defs",
			"order of evaluation: $id and $anchor and $ref":                          "$ref",
			"order of evaluation: $id and $ref":                                      "$ref",
			"order of evaluation: $id and $ref on nested schema":                     "$ref",
			"ref creates new scope when adjacent to keywords":                        "unevaluatedProperties",
			"ref to else":                               "$ref",
			"ref to if":                                 "$ref",
			"ref to then":                               "$ref",
			"ref with absolute-path-reference":          "$ref",
			"refs with relative uris and defs":          "$ref",
			"relative pointer ref to array":             "prefixItems",
			"relative refs with absolute uris and defs": "$ref",
			"remote ref, containing refs itself":        "$ref",
			"simple URN base URI with $ref via the URN": "$ref",
			"simple URN base URI with JSON pointer":     "$id",
		},
	},
	"refRemote.json": {refused: "$ref"},
	"required.json":  {},
	"type.json": {
		deviations: map[string]string{
			"integer type matches integers: a float with zero fractional part is an integer": goInteger,
		},
	},
	"unevaluatedItems.json":      {refused: "unevaluatedItems $ref"},
	"unevaluatedProperties.json": {refused: "unevaluatedProperties $ref"},
	"uniqueItems.json": {
		groups: map[string]string{
			"uniqueItems validation":                                             "uniqueItems",
			"uniqueItems with an array of items":                                 "uniqueItems",
			"uniqueItems with an array of items and additionalItems=false":       "uniqueItems",
			"uniqueItems=false with an array of items":                           "prefixItems",
			"uniqueItems=false with an array of items and additionalItems=false": "prefixItems",
		},
	},
	"vocabulary.json": {refused: "$schema"},
}

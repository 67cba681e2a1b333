package validate_test

// The reasons for deviations from the official suite of JSON Schema. Each is a list item in the documentation
// of the package.
const (
	goInteger      = "an integer must have no fraction and no exponent, and must fit int64 or its format, like its Go type"
	goTime         = "a date-time must be readable by time.Time: no leap second, no lower-case T or Z"
	plainEmail     = "an email address must have no quotes and no address literal"
	assertedFormat = "a format is an assertion, and an unknown format is an error of Load"
	otherDialect   = "a $schema other than that of 2020-12, and therefore vocabularies and older drafts"
	unknownKeyword = "an unknown keyword, including those that 2020-12 has removed, such as dependencies"
)

// suiteExceptions maps files, groups and cases of the suite to the reason for their deviation.
var suiteExceptions = map[string]string{
	"format.json": assertedFormat,
	"optional/bignum.json: integer: a bignum is an integer":          goInteger,
	"optional/bignum.json: integer: a negative bignum is an integer": goInteger,
	"optional/cross-draft.json":                                      otherDialect,
	"optional/dependencies-compatibility.json":                       unknownKeyword,
	"optional/float-overflow.json":                                   goInteger,
	"optional/format-assertion.json":                                 otherDialect,
	"optional/format/date-time.json: validation of date-time strings: a valid date-time with a leap second, UTC":                  goTime,
	"optional/format/date-time.json: validation of date-time strings: a valid date-time with a leap second, with minus offset":    goTime,
	"optional/format/date-time.json: validation of date-time strings: case-insensitive T and Z":                                   goTime,
	"optional/format/email.json: validation of e-mail addresses: a quoted string with a space in the local part is valid":         plainEmail,
	"optional/format/email.json: validation of e-mail addresses: a quoted string with a double dot in the local part is valid":    plainEmail,
	"optional/format/email.json: validation of e-mail addresses: a quoted string with a @ in the local part is valid":             plainEmail,
	"optional/format/email.json: validation of e-mail addresses: an IPv4-address-literal after the @ is valid":                    plainEmail,
	"optional/format/email.json: validation of e-mail addresses: an IPv6-address-literal after the @ is valid":                    plainEmail,
	"optional/format/idn-email.json: validation of an internationalized e-mail addresses: a non-ASCII quoted local part is valid": plainEmail,
	"optional/format/unknown.json":      assertedFormat,
	"optional/refOfUnknownKeyword.json": unknownKeyword,
	"optional/unknownKeyword.json":      unknownKeyword,
	"type.json: integer type matches integers: a float with zero fractional part is an integer": goInteger,
	"vocabulary.json": otherDialect,
}

package smith

// Grammar lists the parts of the grammar of api/tools/generate. A test fails for each that its documents have too
// rarely.
//
//nolint:gochecknoglobals // never changed
var Grammar = []string{
	"path scalar", "path list", "path json", "path suffix", "parameters of a path item",
	"query scalar", "query list", "query list exploded", "query deepObject", "query json",
	"header scalar", "header list", "header json",
	"cookie scalar", "cookie list", "cookie list exploded", "cookie json",

	"string", "integer", "number", "boolean", "enum of strings", "enum of integers", "enum without a type", "component that is an enum",
	"format date-time", "format date", "format uuid", "format byte", "format email", "format duration", "format uri",
	"format int32", "format int64", "format uint8", "format uint64", "format double", "format float",
	"list", "map", "free value", "free object", "free list", "several types", "constant", "null",
	"nullable type", "union with null", "oneOf", "oneOf with additionalProperties", "anyOf", "discriminator", "allOf", "allOf that refines",
	"read only", "write only", "closed object", "open object", "names of any script", "names that Go code uses",

	"body in JSON", "body in JSON that may be null", "body in another JSON", "body in versions of JSON", "body without a schema", "optional body",
	"body with a union beside members", "body in text", "body in bytes", "body in a range", "body in several types",
	"urlencoded", "urlencoded list", "urlencoded list with commas", "urlencoded JSON", "urlencoded list of JSON",
	"multipart", "multipart list", "multipart file", "multipart files", "multipart JSON", "multipart list of JSON",

	"response without content", "response in JSON", "response in another JSON", "response without a schema", "response in text", "response in bytes",
	"response in a range", "response in several types", "JSON lines", "NDJSON", "server-sent events", "server-sent events of several types",
	"server-sent events in JSON or text", "stream beside JSON", "header of a response", "list in a header of a response", "several statuses", "range of statuses", "default", "redirect",
	"HEAD", "results of several types",

	"callback", "components/parameters", "components/headers", "components/requestBodies", "components/responses",
}

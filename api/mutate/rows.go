package main

// rowEdits returns edits of the rows in api/interface_test.go.
func rowEdits() []edit {
	const rows = "api/interface_test.go"
	return []edit{
		{name: "a row is missing", file: rows, old: `{section: "2.4", element: "TokenPair", name: "access_token", typ: "string", required: true},`},
		{name: "a row of a parameter is missing", file: rows, old: `{section: "4.1", element: "GET /projects/v2", name: "header:x-workspace-id", typ: "string", required: true},`},
		{name: "a value of a row is missing", file: rows, old: `"consent_pending", "consent_failed"}`, new: `"consent_pending"}`},
		{name: "a required member of a row is optional", file: rows, old: `name: "password", typ: "string", required: true`, new: `name: "password", typ: "string"`},
		{name: "a format of a row is missing", file: rows, old: `name: "user_id", typ: "string", format: "uuid"`, new: `name: "user_id", typ: "string"`},
		{name: "a name in a row is wrong", file: rows, old: `"srt_target_language"`, new: `"srt_language"`},
	}
}

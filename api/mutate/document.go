package main

import "strings"

const document = "api/openapi.yaml"

// documentEdits returns edits of the document.
func documentEdits() []edit {
	var edits []edit
	add := func(name, after, old, replacement string) {
		edits = append(edits, edit{name: name, file: document, after: after, old: old, new: replacement})
	}
	property := func(schema, name, keyword string) {
		add(schema+" "+name+" gets "+keyword, "\n    "+schema+":\n", "\n        "+name+": { ", "\n        "+name+": { "+keyword+", ")
	}
	nullable := func(schema, name, typ string) {
		add(schema+" "+name+" may be null", "\n    "+schema+":\n", "\n        "+name+": { type: "+typ, "\n        "+name+": { type: ["+typ+", 'null']")
	}

	// Constraints on values that the interface does not constrain.
	for _, member := range []string{"email", "password"} {
		property("LoginRequest", member, "maxLength: 64")
		property("LoginRequest", member, "minLength: 1")
		property("LoginRequest", member, "pattern: '^[a-z]+$'")
	}
	property("LoginRequest", "email", "format: email")
	property("Project", "project_type", "enum: [PERSONALIZED]")
	property("Project", "project_type", "maxLength: 32")
	property("Project", "project_type", "pattern: '^[A-Z]+$'")
	property("Project", "status", "enum: [published]")
	property("Project", "video", "format: uri")
	property("Project", "available_credits", "minimum: 0")
	property("ProjectList", "size", "minimum: 0")
	property("ProjectList", "size", "maximum: 1000")
	property("ProjectList", "unpublished_projects", "minimum: 0")
	property("TokenPair", "access_token", "minLength: 16")
	property("TokenPair", "refresh_token", "pattern: '^[A-Za-z0-9_-]+$'")
	property("WebhookData", "webhook_url", "maxLength: 2048")
	property("WebhookData", "webhook_url", "pattern: '^https://'")
	property("AvatarEventData", "avatar_id", "format: uuid")
	property("AvatarEventData", "avatar_id", "maxLength: 36")
	property("InferenceEventData", "inference_id", "pattern: '^[0-9a-f-]+$'")
	property("InferenceEventData", "inference_id", "minLength: 36")
	add("x-workspace-id gets a pattern", "\n    WorkspaceID:\n", "schema: { type: string", "schema: { type: string, pattern: '^[0-9a-f-]+$'")
	add("x-workspace-id gets maxLength", "\n    WorkspaceID:\n", "schema: { type: string", "schema: { type: string, maxLength: 36")
	add("x-workspace-id gets a format", "\n    WorkspaceID:\n", "schema: { type: string", "schema: { type: string, format: uuid")
	add("data gets maxItems", "\n    ProjectList:\n", "type: array\n", "type: array\n          maxItems: 100\n")
	add("colors get uniqueItems", "\n    Tags:\n", "type: array", "type: array, uniqueItems: true")
	for _, schema := range []string{"TokenPair", "ProjectList", "Thumbnails", "Tags", "AvatarEventData", "InferenceEventData", "LoginRequest", "Project"} {
		add(schema+" forbids additional properties", "\n    "+schema+":\n", "      type: object\n", "      type: object\n      additionalProperties: false\n")
		add(schema+" forbids unevaluated properties", "\n    "+schema+":\n", "      type: object\n", "      type: object\n      unevaluatedProperties: false\n")
	}
	nullable("LoginRequest", "email", "string")
	nullable("LoginRequest", "password", "string")
	nullable("TokenPair", "access_token", "string")
	nullable("TokenPair", "refresh_token", "string")
	nullable("ProjectList", "size", "integer")
	nullable("AvatarEventData", "avatar_id", "string")

	// Facts that the interface states.
	add("an avatar status is removed", "\n    AvatarStatus:\n", ", consent_failed]", "]")
	add("an avatar status is added", "\n    AvatarStatus:\n", ", consent_failed]", ", consent_failed, deleted]")
	add("a final status of a video is added", "\n    InferenceEventStatus:\n", "enum: [succeeded, failed]", "enum: [succeeded, failed, canceled]")
	add("an event type is renamed", "\n    EventType:\n", "lipsync_inference_event]", "lipsync_event]")
	add("password is optional", "\n    LoginRequest:\n", "[email, password]", "[email]")
	add("a project id is required", "\n    Project:\n", "      properties:\n", "      required: [project_id]\n      properties:\n")
	add("size is a number", "\n    ProjectList:\n", "size: { type: integer", "size: { type: number")
	add("created_at loses its format", "\n    Project:\n", "created_at: { type: [string, 'null'], format: date-time,", "created_at: { type: [string, 'null'],")
	add("thumbnails lose a form", "\n    Thumbnails:\n", "thumbnail_gif:", "thumbnail_webp:")
	add("the workspace is optional", "\n    WorkspaceID:\n", "required: true", "required: false")
	add("the workspace is a query parameter", "\n    WorkspaceID:\n", "in: header", "in: query")
	add("login needs a token", "operationId: login\n", "security: []", "security: [{ bearerAuth: [] }]")
	add("a list needs no token", "operationId: listProjects\n", "      security:\n        - bearerAuth: []\n", "      security: []\n")
	add("the registration moves", "\n    WebhookData:\n", "webhook_url:", "url:")
	add("enabled is a string", "\n    WebhookSwitch:\n", "enabled: { type: [boolean", "enabled: { type: [string")
	add("the base address is fixed", "servers:", "'{base_url}'", "'https://api.example.com'")

	// Citations.
	add("a component header cites nothing", "\n  headers:\n", "      x-interface: extension\n", "")
	add("additionalProperties cite nothing", "\n    CreateAvatarRequest:\n", "        x-interface: extension\n        x-go-type", "        x-go-type")
	add("a parameter cites nothing", "\n    IdempotencyKey:\n", "      x-interface: extension\n", "")
	add("a property cites another section", "\n    TokenPair:\n", "access_token: { type: string, x-interface: '2.4'", "access_token: { type: string, x-interface: '2.3'")
	add("an extension cites the interface", "\n    RefreshRequest:\n", "refresh_token: { type: string, minLength: 1, x-interface: extension", "refresh_token: { type: string, minLength: 1, x-interface: '2.4'")
	add("the bearer scheme cites another section", "bearerAuth:\n", "x-interface: '5'", "x-interface: extension")
	add("a path has parameters of its own", "\n  /projects/v2:\n", "    get:\n", "    parameters:\n      - { name: page, in: query, schema: { type: integer } }\n    get:\n")
	add("an undocumented query parameter", "operationId: listProjects\n", "      parameters:\n", "      parameters:\n        - { name: page, in: query, x-interface: extension, schema: { type: integer } }\n")
	add("an undocumented parameter of a component", "operationId: listProjects\n", "      parameters:\n", "      parameters:\n        - $ref: '#/components/parameters/AvatarID'\n")

	// Statuses and headers.
	drop := func(operation, status, component string) {
		add(operation+" does not answer "+status, "operationId: "+operation+"\n", "        '"+status+"': { $ref: '#/components/responses/"+component+"' }\n", "")
	}
	drop("createAvatar", "409", "KeyConflict")
	drop("createAvatar", "422", "CreationRefused")
	drop("createLipsync", "409", "KeyConflict")
	drop("createVideo", "404", "NotFound")
	drop("listProjects", "403", "Forbidden")
	drop("listProjects", "429", "TooManyRequests")
	drop("login", "401", "WrongCredentials")
	drop("login", "415", "UnsupportedMediaType")
	drop("getAvatar", "404", "NotFound")
	drop("submitConsent", "409", "Final")
	add("login answers 202 too", "operationId: login\n", "      responses:\n", "      responses:\n        '202': { description: Later. }\n")
	add("login answers 201 instead", "operationId: login\n", "'200':", "'201':")
	add("an avatar is answered with 203", "operationId: createAvatar\n", "        '400':", "        '203': { description: Perhaps. }\n        '400':")
	add("a list answers 404", "operationId: listProjects\n", "        '500':", "        '404': { $ref: '#/components/responses/NotFound' }\n        '500':")
	add("a token is exchanged with 429", "operationId: refreshTokens\n", "        '500':", "        '429': { $ref: '#/components/responses/TooManyTries' }\n        '500':")
	for _, response := range []struct{ name, header string }{
		{"Unauthorized", "WWW-Authenticate"}, {"TooManyTries", "Retry-After"}, {"TooManyRequests", "RateLimit"}, {"ServiceUnavailable", "Retry-After"},
	} {
		add(response.name+" has no "+response.header, "\n    "+response.name+":\n", "        "+response.header+":", "        X-"+response.header+":")
	}
	for _, event := range []string{"AvatarEvent", "AvatarInferenceEvent", "LipsyncInferenceEvent"} {
		add("notify"+event+" has no sequence", "operationId: notify"+event+"\n", "        - $ref: '#/components/parameters/EventSequence'\n", "")
	}
	add("a notification needs a signature", "\n    EventSignature:\n", "required: false", "required: true")

	// Descriptions with false statements.
	for _, change := range [][3]string{
		{"operationId: listProjects\n", "newest first", "oldest first"},
		{"operationId: login\n", "valid for 1 hour", "valid for 2 hours"},
		{"operationId: createAvatar\n", "`processing` included", "`processing` excluded"},
		{"operationId: notifyAvatarEvent\n", "in order", "in any order"},
		{"\n    EventRejected:\n", "6 attempts", "5 attempts"},
		{"\n    EventFailed:\n", "12 attempts", "10 attempts"},
		{"\n    EventFailed:\n", "15 seconds", "30 seconds"},
		{"\n    EventSequence:\n", "first event is 1", "first event is 0"},
	} {
		add("prose: "+strings.Join(strings.Fields(change[2]), " "), change[0], change[1], change[2])
	}
	return edits
}

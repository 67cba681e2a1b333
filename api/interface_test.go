package api_test

// row is a row of a table in the service interface, or a fact from its sections on states, endpoints and events.
type row struct {
	section  string
	element  string // the component schema, or "METHOD path"
	name     string // the property, or "header:NAME"; "" for the element itself
	typ      string
	format   string
	required bool
	values   []string
}

func fields(section, schema, typ string, names ...string) []row {
	rows := make([]row, len(names))
	for i, name := range names {
		rows[i] = row{section: section, element: schema, name: name, typ: typ}
	}
	return rows
}

var (
	avatarStatuses    = []string{"processing", "failed", "published", "consent_pending", "consent_failed"}
	inferenceStatuses = []string{"succeeded", "failed"}
	eventTypes        = []string{"avatar_event", "avatar_inference_event", "lipsync_inference_event"}
)

// interfaceRows returns all names, types, formats, required members and values that the interface documents.
func interfaceRows() []row {
	rows := []row{
		{section: "2.1", element: "Project", typ: "object"},
		{section: "2.1", element: "Project", name: "user_id", typ: "string", format: "uuid"},
		{section: "2.1", element: "Project", name: "project_id", typ: "string", format: "uuid"},
		{section: "2.1", element: "Project", name: "created_at", typ: "string", format: "date-time"},
		{section: "2.1", element: "Project", name: "updated_at", typ: "string", format: "date-time"},
		{section: "2.1", element: "Project", name: "data_plane_id", typ: "string", format: "uuid"},
		{section: "2.1", element: "Thumbnails", typ: "object"},
		{section: "2.1", element: "Tags", typ: "object"},

		{section: "2.2", element: "ProjectList", typ: "object"},
		{section: "2.2", element: "ProjectList", name: "data", typ: "array of object", required: true},
		{section: "2.2", element: "ProjectList", name: "size", typ: "integer", required: true},
		{section: "2.2", element: "ProjectList", name: "unpublished_projects", typ: "integer", required: true},

		{section: "2.3", element: "LoginRequest", typ: "object"},
		{section: "2.3", element: "LoginRequest", name: "email", typ: "string", required: true},
		{section: "2.3", element: "LoginRequest", name: "password", typ: "string", required: true},

		{section: "2.4", element: "TokenPair", typ: "object"},
		{section: "2.4", element: "TokenPair", name: "access_token", typ: "string", required: true},
		{section: "2.4", element: "TokenPair", name: "refresh_token", typ: "string", required: true},

		{section: "2.5", element: "Event", typ: "object"},
		{section: "2.5", element: "EventEnvelope", typ: "object"},
		{section: "2.5", element: "EventEnvelope", name: "event_type", typ: "string", required: true, values: eventTypes},
		{section: "2.5", element: "EventEnvelope", name: "data", typ: "object", required: true},
		{section: "2.5", element: "EventType", typ: "string", values: eventTypes},
		{section: "2.5", element: "EventData", typ: "object"},

		{section: "3", element: "AvatarStatus", typ: "string", values: avatarStatuses},
		{section: "3", element: "InferenceEventStatus", typ: "string", values: inferenceStatuses},

		{section: "4.1", element: "GET /projects/v2"},
		{section: "4.1", element: "GET /projects/v2", name: "header:x-workspace-id", typ: "string", required: true},
		{section: "4.2", element: "POST /users/login"},
		{section: "4.3", element: "POST /v1/avatars/create_avatar"},
		{section: "4.3", element: "POST /v1/lipsync/create_lipsync"},
		{section: "4.3", element: "CreateAvatarRequest", typ: "object"},
		{section: "4.3", element: "CreateLipsyncRequest", typ: "object"},

		{section: "6.1", element: "CreateAvatarRequest", name: "webhook_data", typ: "object"},
		{section: "6.1", element: "CreateAvatarRequest", name: "webhook", typ: "object"},
		{section: "6.1", element: "CreateLipsyncRequest", name: "webhook_data", typ: "object"},
		{section: "6.1", element: "CreateLipsyncRequest", name: "webhook", typ: "object"},
		{section: "6.1", element: "WebhookData", typ: "object"},
		{section: "6.1", element: "WebhookData", name: "webhook_url", typ: "string"},
		{section: "6.1", element: "WebhookSwitch", typ: "object"},
		{section: "6.1", element: "WebhookSwitch", name: "enabled", typ: "boolean"},

		{section: "6.2", element: "POST webhook avatar_event"},
		{section: "6.2", element: "POST webhook avatar_inference_event"},
		{section: "6.2", element: "POST webhook lipsync_inference_event"},
		{section: "6.2", element: "AvatarEvent", typ: "object"},
		{section: "6.2", element: "AvatarEvent", name: "event_type", typ: "string", required: true, values: eventTypes[:1]},
		{section: "6.2", element: "AvatarEvent", name: "data", typ: "object", required: true},
		{section: "6.2", element: "AvatarEventData", typ: "object"},
		{section: "6.2", element: "AvatarEventData", name: "avatar_id", typ: "string", required: true},
		{section: "6.2", element: "AvatarEventData", name: "status", typ: "string", required: true, values: avatarStatuses},
		{section: "6.2", element: "AvatarInferenceEvent", typ: "object"},
		{section: "6.2", element: "AvatarInferenceEvent", name: "event_type", typ: "string", required: true, values: eventTypes[1:2]},
		{section: "6.2", element: "AvatarInferenceEvent", name: "data", typ: "object", required: true},
		{section: "6.2", element: "LipsyncInferenceEvent", typ: "object"},
		{section: "6.2", element: "LipsyncInferenceEvent", name: "event_type", typ: "string", required: true, values: eventTypes[2:]},
		{section: "6.2", element: "LipsyncInferenceEvent", name: "data", typ: "object", required: true},
		{section: "6.2", element: "InferenceEventData", typ: "object"},
		{section: "6.2", element: "InferenceEventData", name: "inference_id", typ: "string", required: true},
		{section: "6.2", element: "InferenceEventData", name: "status", typ: "string", required: true, values: inferenceStatuses},
	}
	rows = append(rows, fields("2.1", "Project", "string",
		"title", "project_type", "thumbnail", "status", "language", "video", "training_job_id", "srt",
		"srt_target_language", "voice_path", "smart_url", "recording_script")...)
	rows = append(rows, fields("2.1", "Project", "object", "thumbnails", "tags")...)
	rows = append(rows, fields("2.1", "Project", "integer", "available_credits", "utilised_credits")...)
	rows = append(rows, fields("2.1", "Thumbnails", "string",
		"thumbnail_png", "thumbnail_play_png", "thumbnail_gif", "thumbnail_play_gif", "custom_thumbnail")...)
	return append(rows, fields("2.1", "Tags", "array of string", "colors", "names")...)
}

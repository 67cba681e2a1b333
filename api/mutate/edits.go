package main

// edits returns edits that make responses of the service contradict the document. A mistake that handlers of several kinds
// could make has an edit in one of them, because a test of it runs for each kind.
func edits() []edit {
	const (
		rest  = "server/internal/rest/"
		store = "server/internal/store/"
	)
	return []edit{
		{name: "a busy service returns 507", file: "server/error.go", after: "func Busy", old: "StatusServiceUnavailable", new: "StatusInsufficientStorage"},
		{name: "a busy service sends no Retry-After", file: rest + "rest.go", after: "studio.ErrBusy", old: "busyRetryAfter", new: "0"},
		{name: "a key in use returns 423", file: rest + "rest.go", after: "studio.ErrKeyInUse", old: "StatusConflict", new: "StatusLocked"},
		{name: "a key with another request returns 409", file: rest + "rest.go", after: "studio.ErrKeyReused", old: "StatusUnprocessableEntity", new: "StatusConflict"},
		{name: "too many logins send no Retry-After", file: rest + "rest.go", after: "studio.LimitError", old: "response.RetryAfter = limited.RetryAfter", new: "_ = limited"},
		{name: "wrong credentials return 403", file: rest + "rest.go", after: "studio.ErrUnauthorized", old: "StatusUnauthorized", new: "StatusForbidden"},
		{name: "a record of another user returns 403", file: rest + "rest.go", after: "studio.ErrNotFound", old: "StatusNotFound", new: "StatusForbidden"},
		{name: "create_lipsync ignores its key", file: rest + "lipsync.go", after: ") CreateLipsync(", old: "request.Params.IdempotencyKey", new: "nil"},
		{name: "a video has no failure reason", file: rest + "extensions.go", old: "optional(s.FailureReason)", new: "nil"},
		{name: "a video has no URL", file: rest + "extensions.go", old: "a.studio.ResultURL(s.ID, s.Rendering.Video)", new: `""`},
		{name: "updated_at of a lip-sync is created_at", file: rest + "lipsync.go", old: "&s.UpdatedAt", new: "&s.CreatedAt"},
		{name: "times are not UTC", file: store + "query.go", old: "time.UnixMicro(value).UTC()", new: `time.UnixMicro(value).In(time.FixedZone("", 7200))`},
		{name: "responses have an undocumented header", file: "server/exchange.go", after: "ServeHTTP(w http.ResponseWriter", old: "header := w.Header()\n", new: "header := w.Header()\n\theader[\"X-Powered-By\"] = []string{\"go\"}\n"},
		{name: "tokens have an undocumented member", file: "gen/api.gen.go", after: "type TokenPair struct {", old: "\tRefreshToken ", new: "\tExpiresIn int `json:\"expires_in\"`\n\n\tRefreshToken "},
		{name: "an avatar has no progress", file: rest + "avatars.go", old: "avatar.Progress, avatar.ProgressStage", new: "_, avatar.ProgressStage"},
		{name: "an avatar has no checks", file: rest + "avatars.go", old: "checks(s.Rendering.Checks)", new: "checks(nil)"},
		{name: "a list has the records of other users", file: rest + "lists.go", old: "filter.UserID = caller(ctx)", new: "_ = ctx"},
		{name: "a page ignores its limit", file: rest + "lists.go", after: "func pageSize", old: "return *limit", new: "return defaultLimit"},
		{name: "a page has the oldest records first", file: store + "subjects.go", old: "DESC", new: "ASC"},
	}
}

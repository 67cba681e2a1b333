package main

// handlerEdits returns edits of the service that break what the document says about its responses.
func handlerEdits() []edit {
	const (
		rest  = "server/internal/rest/"
		store = "server/internal/store/"
	)
	// One database is enough, because the edits are in code that both databases share.
	tests := []string{"./server/internal/rest", "-run", "/SQLite"}
	edits := []edit{
		{name: "a busy service answers 507", file: "server/error.go", after: "func Busy", old: "StatusServiceUnavailable", new: "StatusInsufficientStorage"},
		{name: "a busy service names no pause", file: rest + "rest.go", after: "studio.ErrBusy", old: "busyRetryAfter", new: "0"},
		{name: "a key in use answers 423", file: rest + "rest.go", after: "studio.ErrKeyInUse", old: "StatusConflict", new: "StatusLocked"},
		{name: "a key with another request answers 409", file: rest + "rest.go", after: "studio.ErrKeyReused", old: "StatusUnprocessableEntity", new: "StatusConflict"},
		{name: "too many tries name no pause", file: rest + "rest.go", after: "studio.LimitError", old: "response.RetryAfter = limited.RetryAfter", new: "_ = limited"},
		{name: "wrong credentials answer 403", file: rest + "rest.go", after: "studio.ErrUnauthorized", old: "StatusUnauthorized", new: "StatusForbidden"},
		{name: "a record of another user answers 403", file: rest + "rest.go", after: "studio.ErrNotFound", old: "StatusNotFound", new: "StatusForbidden"},
		{name: "create_video ignores its key", file: rest + "extensions.go", after: ") CreateVideo(", old: "request.Params.IdempotencyKey", new: "nil"},
		{name: "create_avatar ignores its key", file: rest + "avatars.go", after: ") CreateAvatar(", old: "request.Params.IdempotencyKey", new: "nil"},
		{name: "create_lipsync ignores its key", file: rest + "lipsync.go", after: ") CreateLipsync(", old: "request.Params.IdempotencyKey", new: "nil"},
		{name: "an avatar does not say why it failed", file: rest + "avatars.go", old: "optional(s.FailureReason)", new: "nil"},
		{name: "a video does not say why it failed", file: rest + "extensions.go", old: "optional(s.FailureReason)", new: "nil"},
		{name: "a lip-sync does not say why it failed", file: rest + "lipsync.go", old: "optional(s.FailureReason)", new: "nil"},
		{name: "a video has no address", file: rest + "extensions.go", old: "a.studio.ResultURL(s.ID, s.Rendering.Video)", new: `""`},
		{name: "a lip-sync has no address", file: rest + "lipsync.go", old: "a.studio.ResultURL(s.ID, s.Rendering.Video)", new: `""`},
		{name: "an avatar was updated when it was created", file: rest + "avatars.go", old: "&s.UpdatedAt", new: "&s.CreatedAt"},
		{name: "a video was updated when it was created", file: rest + "extensions.go", old: "&s.UpdatedAt", new: "&s.CreatedAt"},
		{name: "a lip-sync was updated when it was created", file: rest + "lipsync.go", old: "&s.UpdatedAt", new: "&s.CreatedAt"},
		{name: "times are not UTC", file: store + "store.go", old: "time.UnixMicro(value).UTC()", new: `time.UnixMicro(value).In(time.FixedZone("", 7200))`},
		{name: "answers have a header that nobody knows", file: "server/exchange.go", after: "ServeHTTP(w http.ResponseWriter", old: "header := w.Header()\n", new: "header := w.Header()\n\theader[\"X-Powered-By\"] = []string{\"go\"}\n"},
		{name: "tokens have a member that nobody knows", file: "gen/encoders.gen.go", after: "encodeTokenPair(v *TokenPair) {\n", old: "\tto.name(", new: "\tto.name(`\"expires_in\":`)\n\tto.int(3600)\n\tto.name("},
		{name: "an avatar shows no progress", file: rest + "avatars.go", old: "answer.Progress = progress(s)", new: "_ = progress(s)"},
		{name: "an avatar shows no checks", file: rest + "avatars.go", old: "checks(s.Rendering.Checks)", new: "checks(nil)"},
		{name: "a list shows the records of others", file: rest + "lists.go", old: "filter.UserID = caller(ctx)", new: "_ = ctx"},
		{name: "a page ignores its limit", file: rest + "lists.go", old: "size = *limit", new: "_ = *limit"},
		{name: "a page is the oldest records", file: store + "subjects.go", old: "DESC", new: "ASC"},
	}
	for i := range edits {
		edits[i].tests = tests
	}
	return edits
}

package api_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// statement is a statement of a description in the document, with the test that checks it.
type statement struct {
	element string // an operation id, or a path below components
	text    string
	test    string // "directory of a package: name of a test"
}

func statements() []statement {
	return []statement{
		{"login", "valid for 1 hour", "../server/internal/auth: TestTokens_acceptIssuedTokens"},
		{"login", "valid for 30 days", "../server/internal/studio: TestRefresh_rejectsUnknownAndExpiredTokens"},
		{"login", "After 10 failed logins for one email from one address", "../server/internal/studio: TestLogin_doublesTheDelayAfterEachFailure"},
		{"login", "Failures from other addresses never delay an address from which the user logged in", "../server/internal/studio: TestLogin_failuresElsewhereDoNotDelayKnownAddresses"},
		{"refreshTokens", "stops working", "../server/internal/studio: TestRefresh_rotatesAndDetectsReuse"},
		{"refreshTokens", "revokes every token", "../server/internal/studio: TestRefresh_rotatesAndDetectsReuse"},
		{"listProjects", "newest first", "../server/internal/studio: TestListProjects_listsAllNewestFirstWithCounts"},
		{"listProjects", "The counts are of the caller's projects in this workspace", "../server/internal/studio: TestListProjects_listsAllNewestFirstWithCounts"},
		{"listProjects", "`published`, ignoring case", "../server/internal/studio: TestIsPublished_ignoresCase"},
		{"listProjects", "is the same 403", "../server/internal/rest: TestErrors_haveTheDocumentedStatus"},
		{"createAvatar", "The response is 422 if the webhook is enabled without a URL", "../server/internal/studio: TestCreate_registersEnabledWebhooksOnly"},
		{"createAvatar", "A URL without an enabled webhook registers nothing", "../server/internal/studio: TestCreate_registersEnabledWebhooksOnly"},
		{"createAvatar", "state that the avatar enters, `processing` included", "../server/internal/studio: TestAvatar_hasOneEventForEachState"},
		{"createVideo", "When the video succeeds or fails", "../server/internal/studio: TestInference_hasAnEventForFinalStatesOnly"},
		{"createVideo", "409 unless the avatar is published", "../server/internal/rest: TestErrors_haveTheDocumentedStatus"},
		{"submitConsent", "while the avatar is still `processing`", "../server/internal/studio: TestAvatar_hasOneEventForEachState"},
		{"submitConsent", "409 if the avatar is in a final state", "../server/internal/rest: TestErrors_haveTheDocumentedStatus"},
		{"listAvatars", "newest first", "../server/internal/rest: TestList_isStableUnderChanges"},
		{"listAvatars", "a record that exists throughout the listing is returned exactly once", "../server/internal/rest: TestList_isStableUnderChanges"},
		{"listAvatars", "Use a cursor with the same filters only", "../server/internal/rest: TestList_rejectsCursorsOfOtherLists"},
		{"listVideos", "newest first", "../server/internal/rest: TestList_isStableUnderChanges"},
		{"listVideos", "a record that exists throughout the listing is returned exactly once", "../server/internal/rest: TestList_isStableUnderChanges"},
		{"listVideos", "Use a cursor with the same filters only", "../server/internal/rest: TestList_rejectsCursorsOfOtherLists"},
		{"listLipsyncs", "newest first", "../server/internal/rest: TestList_isStableUnderChanges"},
		{"listLipsyncs", "a record that exists throughout the listing is returned exactly once", "../server/internal/rest: TestList_isStableUnderChanges"},
		{"listLipsyncs", "Use a cursor with the same filters only", "../server/internal/rest: TestList_rejectsCursorsOfOtherLists"},
		{"parameters/PageLimit", "Defaults to 20", "../server/internal/rest: TestList_hasTwentyRecordsByDefault"},
		{"deleteAvatar", "Stops all work", "../server/internal/jobs: TestSQLite_cancelsTheRenderingOfADeletedSubject"},
		{"deleteAvatar", "erases", "../server/internal/store: TestStore_DeleteSubject_erasesTheSubjectAndItsVideos"},
		{"deleteAvatar", "may still arrive", "../server/internal/store: TestStore_DeleteSubject_duringAnAttemptMakesNothingDue"},
		{"deleteAvatar", "The videos made from the avatar are deleted with it", "../server/internal/rest: TestDelete_isIdempotent"},
		{"deleteAvatar", "every other operation responds with 404 for the avatar", "../server/internal/rest: TestDelete_isIdempotent"},
		{"deleteAvatar", "again responds with 204 for 24 hours, and then with 404", "../server/internal/rest: TestDelete_isIdempotent"},
		{"deleteVideo", "every other operation responds with 404 for the video", "../server/internal/rest: TestDelete_isIdempotent"},
		{"deleteVideo", "again responds with 204 for 24 hours, and then with 404", "../server/internal/rest: TestDelete_isIdempotent"},
		{"deleteLipsync", "every other operation responds with 404 for the lip-sync", "../server/internal/rest: TestDelete_isIdempotent"},
		{"deleteLipsync", "again responds with 204 for 24 hours, and then with 404", "../server/internal/rest: TestDelete_isIdempotent"},
		{"uploadMedia", "for seven days", "../server/internal/rest: TestUploadMedia_storesValidFiles"},
		{"rotateWebhookSecret", "stay active for 24 hours", "../server/internal/rest: TestRotateWebhookSecret_keepsTheOldSecretForADay"},
		{"rotateWebhookSecret", "While 10 secrets are active, the response is 429", "../server/internal/rest: TestRotateWebhookSecret_hasALimit"},
		{"getWebhookSecrets", "newest first", "../server/internal/rest: TestRotateWebhookSecret_keepsTheOldSecretForADay"},
		{"getWebhookSecrets", "The first call creates the first secret", "../server/internal/studio: TestWebhookSecrets_overlapForADayAfterARotation"},
		{"responses/EventGone", "Later registrations of the URL are accepted, but receive nothing until the URL is enabled again", "../server/internal/jobs: TestTrigger_Run_switchesOffAnEndpointThatRespondsWith410"},
		{"testWebhook", "does not retry the attempt and registers nothing", "../server/internal/rest: TestTestWebhook_sendsASampleEvent"},
		{"testWebhook", "at most 10 samples per minute", "../server/internal/rest: TestTestWebhook_sendsASampleEvent"},
		{"notifyAvatarEvent", "once for every state that the avatar enters, in order", "../server/internal/studio: TestAvatar_hasOneEventForEachState"},
		{"notifyLipsyncInferenceEvent", "at the completion", "../server/internal/studio: TestInference_hasAnEventForFinalStatesOnly"},
		{"responses/EventGone", "sends nothing more to this URL for its user", "../server/internal/jobs: TestTrigger_Run_switchesOffAnEndpointThatRespondsWith410"},
		{"responses/EventRejected", "6 attempts in all", "../server/internal/jobs: TestDecide_returnsOutcomeOfAttempt"},
		{"responses/EventFailed", "15 seconds", "../server/sender: TestSend_endsByTheDeadline"},
		{"responses/EventFailed", "12 attempts in all within about 3 days", "../server/internal/jobs: TestTrigger_Run_exhaustsAnEventAfterTheLastRetry"},
		{"responses/EventFailed", "the next event of the same record waits", "../server/internal/jobs: TestTrigger_Run_keepsEveryDeliveryGuarantee"},
		{"parameters/EventID", "the same in every attempt", "../server/internal/jobs: TestTrigger_Run_sendsTheSameIDAndBodyInEveryAttempt"},
		{"parameters/EventSequence", "The first event is 1", "../server/internal/store: TestStore_UpdateSubject_numbersEventsWithoutGaps"},
		{"parameters/IdempotencyKey", "Only successes are kept", "../server/internal/rest: TestIdempotencyKey_canBeUsedAgainAfterAnError"},
		{"parameters/IdempotencyKey", "visible ASCII", "../server/internal/rest: TestIdempotencyKey_mustBeVisibleASCII"},
		{"parameters/IdempotencyKey", "another operation or another body is 422", "../server/internal/rest: TestErrors_haveTheDocumentedStatus"},
		{"parameters/IdempotencyKey", "24 hours", "../server/internal/studio: TestCreate_isIdempotentWithAKey"},
	}
}

func TestDocument_statementsHaveTests(t *testing.T) {
	t.Parallel()
	document := loadObject(t)
	operations := make(map[string]object)
	document.eachOperation(func(_ string, operation object) {
		id, _ := operation["operationId"].(string)
		operations[id] = operation
	})
	tests := make(map[string]string) // source text of the tests, by directory
	for _, s := range statements() {
		element, ok := operations[s.element]
		if !ok {
			element = document.at(append([]string{"components"}, strings.Split(s.element, "/")...)...)
		}
		description, _ := element["description"].(string)
		if !strings.Contains(strings.Join(strings.Fields(description), " "), s.text) {
			t.Errorf("the description of %s does not contain %q", s.element, s.text)
		}
		folder, test, _ := strings.Cut(s.test, ": ")
		if _, ok := tests[folder]; !ok {
			tests[folder] = testSources(t, folder)
		}
		if !strings.Contains(tests[folder], "\nfunc "+test+"(") {
			t.Errorf("%s: no test %s for the statement %q", folder, test, s.text)
		}
	}
}

func testSources(t *testing.T, folder string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(content)
	}
	return all.String()
}

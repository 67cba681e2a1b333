package api_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// statement is a promise about behaviour that a description makes, and the test that holds the
// service to it.
type statement struct {
	element string // an operation id, or a path below components
	says    string
	shown   string // "folder of a package: test"
}

func statements() []statement {
	return []statement{
		{"login", "valid for 1 hour", "../server/internal/auth: TestTokens_authenticateWhatTheyIssued"},
		{"login", "valid for 30 days", "../server/internal/studio: TestRefresh_refusesWhatIsUnknownOrExpired"},
		{"login", "After 10 failed tries for one email from one address", "../server/internal/studio: TestLogin_waitsTwiceAsLongAfterEachFurtherFailure"},
		{"login", "Failures from elsewhere never delay", "../server/internal/studio: TestLogin_strangersDoNotHoldUpTheOwner"},
		{"refreshTokens", "stops working", "../server/internal/studio: TestRefresh_rotatesAndTakesReuseForTheft"},
		{"refreshTokens", "revokes every token", "../server/internal/studio: TestRefresh_rotatesAndTakesReuseForTheft"},
		{"listProjects", "newest first", "../server/internal/studio: TestListProjects_listsAllNewestFirstAndCountsTheCallers"},
		{"listProjects", "The counts are of the caller's projects in this workspace", "../server/internal/studio: TestListProjects_listsAllNewestFirstAndCountsTheCallers"},
		{"listProjects", "`published`, in any case", "../server/internal/studio: TestIsPublished_ignoresCase"},
		{"listProjects", "are the same 403", "../server/internal/rest: TestErrors_haveTheStatusesOfTheContract"},
		{"createAvatar", "enabled without a URL is 422", "../server/internal/studio: TestCreate_registersOnlyWhatIsEnabled"},
		{"createAvatar", "a URL that is not enabled registers nothing", "../server/internal/studio: TestCreate_registersOnlyWhatIsEnabled"},
		{"createAvatar", "state that the avatar enters, `processing` included", "../server/internal/studio: TestAvatar_announcesEveryStateOnce"},
		{"createVideo", "when it ends", "../server/internal/studio: TestInference_announcesTheEndAlone"},
		{"createVideo", "409 unless the avatar is published", "../server/internal/rest: TestErrors_haveTheStatusesOfTheContract"},
		{"submitConsent", "while the avatar is still `processing`", "../server/internal/studio: TestAvatar_announcesEveryStateOnce"},
		{"submitConsent", "409 in a final state", "../server/internal/rest: TestErrors_haveTheStatusesOfTheContract"},
		{"listAvatars", "newest first", "../server/internal/rest: TestList_pagesStayTogetherWhileRecordsComeAndGo"},
		{"listAvatars", "no record that is there all the time is left out or listed twice", "../server/internal/rest: TestList_pagesStayTogetherWhileRecordsComeAndGo"},
		{"listAvatars", "Use it with the same filters", "../server/internal/rest: TestList_refusesCursorsOfAnotherList"},
		{"listVideos", "newest first", "../server/internal/rest: TestList_pagesStayTogetherWhileRecordsComeAndGo"},
		{"listVideos", "no record that is there all the time is left out or listed twice", "../server/internal/rest: TestList_pagesStayTogetherWhileRecordsComeAndGo"},
		{"listVideos", "Use it with the same filters", "../server/internal/rest: TestList_refusesCursorsOfAnotherList"},
		{"listLipsyncs", "newest first", "../server/internal/rest: TestList_pagesStayTogetherWhileRecordsComeAndGo"},
		{"listLipsyncs", "no record that is there all the time is left out or listed twice", "../server/internal/rest: TestList_pagesStayTogetherWhileRecordsComeAndGo"},
		{"listLipsyncs", "Use it with the same filters", "../server/internal/rest: TestList_refusesCursorsOfAnotherList"},
		{"parameters/PageLimit", "20 when it is left out", "../server/internal/rest: TestList_hasTwentyUnlessTheCallerSaysOtherwise"},
		{"deleteAvatar", "Stops what runs", "../server/internal/jobs: TestRender_endsWithItsSubject"},
		{"deleteAvatar", "erases", "../server/internal/store: TestStore_DeleteSubject_erases"},
		{"deleteAvatar", "may still arrive", "../server/internal/store: TestStore_DeleteSubject_duringAnAttempt"},
		{"deleteAvatar", "The videos made from the avatar are deleted with it", "../server/internal/rest: TestDelete"},
		{"deleteAvatar", "is 404 everywhere", "../server/internal/rest: TestDelete"},
		{"deleteAvatar", "again is 204 too for 24 hours, and then 404", "../server/internal/rest: TestDelete"},
		{"deleteVideo", "is 404 everywhere", "../server/internal/rest: TestDelete"},
		{"deleteVideo", "again is 204 too for 24 hours, and then 404", "../server/internal/rest: TestDelete"},
		{"deleteLipsync", "is 404 everywhere", "../server/internal/rest: TestDelete"},
		{"deleteLipsync", "again is 204 too for 24 hours, and then 404", "../server/internal/rest: TestDelete"},
		{"uploadMedia", "for seven days", "../server/internal/rest: TestUploadMedia"},
		{"rotateWebhookSecret", "stay in force for 24 hours", "../server/internal/rest: TestRotateWebhookSecret_keepsTheOldOneForADay"},
		{"rotateWebhookSecret", "With 10 secrets in force the answer is 429", "../server/internal/rest: TestRotateWebhookSecret_hasALimit"},
		{"getWebhookSecrets", "newest first", "../server/internal/rest: TestRotateWebhookSecret_keepsTheOldOneForADay"},
		{"getWebhookSecrets", "The first call makes the first secret", "../server/internal/studio: TestWebhookSecrets_overlapForADayAfterARotation"},
		{"responses/EventGone", "Later registrations of the URL are accepted and get nothing until the URL is enabled", "../server/internal/jobs: TestTrigger_switchesOffAURLThatIsGone"},
		{"testWebhook", "The attempt is not repeated, and nothing is registered", "../server/internal/rest: TestTestWebhook"},
		{"testWebhook", "At most 10 in a minute", "../server/internal/rest: TestTestWebhook"},
		{"notifyAvatarEvent", "once for every state it enters, in order", "../server/internal/studio: TestAvatar_announcesEveryStateOnce"},
		{"notifyLipsyncInferenceEvent", "at the completion", "../server/internal/studio: TestInference_announcesTheEndAlone"},
		{"responses/EventGone", "sends nothing more to this URL for its user", "../server/internal/jobs: TestTrigger_switchesOffAURLThatIsGone"},
		{"responses/EventRejected", "6 attempts in all", "../server/internal/jobs: TestJudge"},
		{"responses/EventFailed", "15 seconds", "../server/sender: TestSend_Hostile"},
		{"responses/EventFailed", "12 attempts in all within about 3 days", "../server/internal/jobs: TestTrigger_givesAnEventUpAfterTheWholeSchedule"},
		{"responses/EventFailed", "the next event of the same record waits", "../server/internal/jobs: TestDelivery_keepsItsPromisesOverTheWholeSchedule"},
		{"parameters/EventID", "the same in every attempt", "../server/internal/jobs: TestTrigger_sendsTheSameIDAndBytesInEveryAttempt"},
		{"parameters/EventSequence", "the first is 1", "../server/internal/store: TestStore_UpdateSubject_numbersEventsWithoutGaps"},
		{"parameters/IdempotencyKey", "Only successes are kept", "../server/internal/rest: TestIdempotencyKey_keepsSuccessesOnly"},
		{"parameters/IdempotencyKey", "visible ASCII", "../server/internal/rest: TestIdempotencyKey_isVisibleASCII"},
		{"parameters/IdempotencyKey", "another operation or another body is 422", "../server/internal/rest: TestErrors_haveTheStatusesOfTheContract"},
		{"parameters/IdempotencyKey", "24 hours", "../server/internal/studio: TestCreate_withAnIdempotencyKeyAnswersTheSame"},
	}
}

func TestDocument_promisesWhatATestShows(t *testing.T) {
	t.Parallel()
	document := loadObject(t)
	operations := make(map[string]object)
	document.eachOperation(func(_ string, operation object) {
		id, _ := operation["operationId"].(string)
		operations[id] = operation
	})
	tests := make(map[string]string) // by folder, the sources of its tests
	for _, s := range statements() {
		element, ok := operations[s.element]
		if !ok {
			element = document.at(append([]string{"components"}, strings.Split(s.element, "/")...)...)
		}
		text, _ := element["description"].(string)
		if !strings.Contains(strings.Join(strings.Fields(text), " "), s.says) {
			t.Errorf("%s does not say %q", s.element, s.says)
		}
		folder, test, _ := strings.Cut(s.shown, ": ")
		if _, ok := tests[folder]; !ok {
			tests[folder] = testSources(t, folder)
		}
		if !strings.Contains(tests[folder], "\nfunc "+test+"(") {
			t.Errorf("%s: there is no %s to show that %q", folder, test, s.says)
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

package main

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/avatarstudio/avatarstudio/api/tools/gobuild"
	"github.com/avatarstudio/avatarstudio/server/internal/web/guide"
)

// threats is the threat model: each attack that the guide lists, with the tests that show the defense.
func threats() map[string]string {
	return map[string]string{
		"Webhooks to private networks": `
			server/sender: TestGuard_blocksRangesThatAreNotPublic TestGuard_blocksAllNotationsOfAnAddress TestSend_blocksDNSRebinding
			server/sender: TestSend_followsNoRedirects TestSend_blocksANameWithAPrivateAddress`,
		"Receivers that hang or never finish": `
			server/sender: TestSend_endsByTheDeadline
			server/internal/deliver: TestSQLite_longBacklogDelaysNoOtherReceiver`,
		"Clients that exhaust connections or memory": `
			server/cmd/studiod: TestProcess_survivesHostileConnections
			server/internal/operate/httpserver: TestListener_closesConnectionsThatFloodWithFrames`,
		"Password guessing": `
			server/cmd/studiod: TestProcess_acceptsCorrectLoginDuringGuessing`,
		"Forged and revoked tokens": `
			server/internal/api/auth: TestTokens_rejectForeignTokens TestTokens_Middleware_refusesWhatArrivesLate
			server/cmd/studiod: TestCommands_endSessions TestSession_endsWithAllItsTokens`,
		"Leaked API keys": `
			server/internal/api/auth: TestAPIKeys_allowWhatTheirScopeAllows
			server/internal/studio: TestAPIKey_isValidUntilItExpiresOrIsRevoked
			server/internal/api/rest: TestWorkspaceKey_staysInItsWorkspace
			server/cmd/studiod: TestAPIKey_worksUntilItIsRevoked`,
		"Users who access data of other users": `
			server/internal/api/rest: TestOperations_followTheDocument
			server/internal/web/console: TestSubjects_areHiddenFromOtherUsers TestOperator_hidesPagesFromOtherUsers`,
		"Users who use more than their share": `
			server/cmd/studiod: TestDaemon_limitsRequestRate
			server/internal/studio: TestLimits_holdInAllProcesses TestStreamEvents_limitsTheStreamsOfAUser
			server/internal/studio: TestCreate_limitsCreationsInProgressWithLateCounts TestCredits_limitTheSecondsOfVideo`,
		"Pages that resolve their own name to the admin address": `
			server/cmd/studiod: TestAdmin_rejectsOtherHosts`,
		"Forms and scripts of other sites in the console": `
			server/internal/web/console: TestSession_rejectsCrossOriginForms TestConsole_allowsThisOriginOnly`,
		"Links to shared videos that are guessed or kept": `
			server/internal/web/share: TestPage_isNotFoundForEveryOtherLink TestPage_endsOnEveryDaemon
			server/cmd/studiod: TestDaemon_sharesVideos`,
		"Pipes and links in the directory of files": `
			server/internal/media: TestStore_ServeHTTP_servesRegularFilesOnly`,
		"Hostile media": `
			server/cmd/studio-render: TestRun_rejectsDecompressionBombs
			server/internal/render: TestExec_enforcesLimits
			server/cmd/studiod: TestProcess_containsHostileRenderer`,
		"Secrets in logs, errors and responses": `
			server: TestHandler_echoesNoSubmittedValue
			client/webhook: TestVerifier_errorsHaveNoCredentials`,
		"Forged or changed webhooks": `
			api/runtime/standardwebhooks: TestVerify_acceptsOnlySignedMessages TestVectors_matchOtherLibraries`,
		"Keys and webhook secrets in a copy of the database": `
			server/internal/store: TestStore_Seal_encryptsKeysAndSecrets TestStore_Seal_bindsAValueToItsRow`,
		"Secrets and signatures that are used for something else": `
			server/cmd/studiod: TestUses_refuseWhatIsMadeForOthers
			server/internal/store: TestStore_Seal_bindsAValueToItsRow`,
		"Forged and exchanged files in the place of backups": `
			server/internal/operate/backup: TestSeal_refusesEachFileUnderEachOtherKey TestRestore_findsDamage`,
	}
}

func TestThreats_areThoseOfTheGuide(t *testing.T) {
	t.Parallel()
	threats := threats()
	pages := guide.Pages()
	page := pages[slices.IndexFunc(pages, func(page guide.Page) bool { return page.Name == "threat-model" })].Text()
	for _, item := range regexp.MustCompile(`(?m)^  - (.+?): `).FindAllStringSubmatch(page, -1) {
		tests := strings.TrimSpace(threats[item[1]])
		for line := range strings.SplitSeq(tests, "\n") {
			dir, names, _ := strings.Cut(strings.TrimSpace(line), ": ")
			if names == "" {
				t.Errorf("%s: no test shows the defense", item[1])
			}
			for name := range strings.FieldsSeq(names) {
				if err := gobuild.FindTest("../../../"+dir, name); err != nil {
					t.Errorf("%s: %v", item[1], err)
				}
			}
		}
		delete(threats, item[1])
	}
	if len(threats) > 0 || strings.Contains(page, "Test") {
		t.Errorf("the guide does not list %v, or names a test", threats)
	}
}

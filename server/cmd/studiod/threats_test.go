package main

import (
	"regexp"
	"strings"
	"testing"

	"github.com/avatarstudio/avatarstudio/api/gobuild"
)

// threats is the threat model: each attack that the manual lists, with the tests that show the defense. Attackers are
// users and their receivers, clients without a token, pages in the browser of a user or an operator, the media that users
// upload, and readers of the database, its backups and the logs. Whoever reads the key file or the memory of a daemon is
// trusted.
func threats() map[string]string {
	return map[string]string{
		"Webhooks to private networks": `
			server/sender: TestGuard_blocksRangesThatAreNotPublic TestGuard_blocksAllNotationsOfAnAddress TestSend_blocksDNSRebinding
			server/sender: TestSend_followsNoRedirects TestSend_blocksANameWithAPrivateAddress`,
		"Receivers that hang or never finish": `
			server/sender: TestSend_endsByTheDeadline
			server/internal/soak: TestHungReceiver_oneOfAHundredDelaysNoOther`,
		"Clients that exhaust connections or memory": `
			server/cmd/studiod: TestProcess_survivesHostileConnections`,
		"Password guessing": `
			server/cmd/studiod: TestProcess_acceptsCorrectLoginDuringGuessing`,
		"Forged and revoked tokens": `
			server/internal/auth: TestTokens_rejectForeignTokens
			server/cmd/studiod: TestCommands_endSessions`,
		"Leaked API keys": `
			server/internal/auth: TestAPIKeys_allowWhatTheirScopeAllows
			server/internal/studio: TestAPIKey_isValidUntilItExpiresOrIsRevoked
			server/cmd/studiod: TestAPIKey_worksUntilItIsRevoked`,
		"Users who access data of other users": `
			server/internal/studio: TestFind_hidesSubjectsOfOtherUsers
			server/internal/console: TestSubjects_areHiddenFromOtherUsers TestOperator_hidesPagesFromOtherUsers`,
		"Users who use more than their share": `
			server/cmd/studiod: TestProcess_daemonsShareUserRates
			server/internal/studio: TestLimits_holdInAllProcesses`,
		"Pages that resolve their own name to the admin address": `
			server/cmd/studiod: TestAdmin_rejectsOtherHosts`,
		"Forms and scripts of other sites in the console": `
			server/internal/console: TestSession_rejectsCrossOriginForms TestConsole_allowsThisOriginOnly`,
		"Links to shared videos that are guessed or kept": `
			server/internal/share: TestPage_isNotFoundForEveryOtherLink TestPage_endsOnEveryDaemon
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
			api/standardwebhooks: TestVerify_acceptsOnlySignedMessages TestVectors_matchOtherLibraries`,
		"Keys and webhook secrets in a copy of the database": `
			server/internal/store: TestStore_Seal_encryptsKeysAndSecrets TestStore_Seal_bindsAValueToItsRow`,
	}
}

func TestThreats_areThoseOfTheManual(t *testing.T) {
	t.Parallel()
	threats := threats()
	_, security, _ := strings.Cut(manual(), "# Security\n")
	for _, item := range regexp.MustCompile(`(?m)^  - (.+?): `).FindAllStringSubmatch(security, -1) {
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
	if len(threats) > 0 || strings.Contains(manual(), "Test") {
		t.Errorf("the manual does not list %v, or names a test", threats)
	}
}

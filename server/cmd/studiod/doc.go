// Studiod serves Avatar Studio: the contract in api/openapi.yaml, stored in a database, with signed
// webhooks and a renderer that makes videos.
//
//	studiod serve                      # SQLite in the user's data directory
//	studiod user add ada@example.com   # asks for a password
//	studiod workspace add Team         # prints the id
//	studiod workspace member WORKSPACE_ID ada@example.com
//	studiod project import --workspace WORKSPACE_ID projects.json
//	studiod secret show ada@example.com
//
// Every flag of serve can also be set by an environment variable: --render-time is STUDIO_RENDER_TIME.
// Commands work while a daemon is running. After invalid input, a command prints one line and exits with
// code 2. After any other failure, it prints one line and exits with code 1.
//
// # In the browser
//
// The reference of the API is at /docs. The console at /console is for users, who log in as they do to the
// API. They see and create avatars and videos, see the state of their notifications, and replay them. The
// flags --docs=false and --console=false disable the pages. Behind a proxy that adds TLS, --public-url must
// begin with https:, so that browsers send the session cookie over https only. The pages load nothing from
// other origins, but link to the thumbnails of imported projects.
//
// In the console, an operator also sees who uses the service, what is waiting and since when, which
// processes render and deliver, and which receivers fail. An operator sees nothing that belongs to another
// user. Removing the role takes effect at once:
//
//	studiod user role olga@example.com operator
//	studiod user role olga@example.com user
//
// # Databases
//
// The flag --db names the database. sqlite:PATH is a file that only one daemon may use.
// postgres://USER@HOST/DATABASE can be shared by any number of daemons. Its password is read from
// PGPASSWORD or ~/.pgpass. The daemons on a PostgreSQL database share the deliveries evenly. If one is
// killed, frozen or disconnected, another takes over its deliveries within 5 seconds and its renderings
// within 20 seconds. On SQLite, the next start continues both at once.
//
// While the database is unreachable, busy, full, damaged or read-only, requests get 503 with Retry-After,
// and the cause is logged. A daemon exits when its SQLite file is deleted, replaced or emptied. At its
// start, it removes the permissions of other users from that file, and logs a warning if there were any.
//
//	studiod backup FILE    # SQLite, while a daemon is running
//	studiod restore FILE   # where there is no database yet
//	studiod check          # report inconsistent rows
//
// PostgreSQL is backed up with pg_dump and restored with pg_restore. The help of both commands shows how.
//
// A daemon migrates the tables when it starts, and only forward. On PostgreSQL, daemons of the previous
// version keep working next to a new one, and may even be restarted. So replace them one after the other
// (rolling update): take each out of the load balancer first, and stop it with SIGTERM. A daemon that exits
// because the others kept its migration from a lock can be started again at once. Upgrade one version at a
// time, or stop all daemons.
//
// # Keys
//
// The keys that sign access tokens, and the webhook secrets, are encrypted in the database with
// AES-256-GCM, each bound to its row. The encryption key is in a separate file. For a SQLite database
// studio.db, the first start creates studio.keys, which only its owner can read. For PostgreSQL, give all
// daemons, workers and commands the same key: --key-file FILE with a line from "openssl rand -base64 32",
// or that line in STUDIO_KEYS. Without a key, they log a warning and store secrets as plain text. The next
// start with a key encrypts them. A start with a wrong key file, or without the key file, fails. A start
// with a key file that every user of the machine can read logs a warning.
//
// A backup cannot be used without the key file: keep a copy of the file, in another place than the backup.
// Stop all daemons before you configure the first key, and do not combine that with a rolling update:
// daemons without the key cannot read encrypted secrets, and older daemons may not support key files.
//
//	studiod key rotate     # encrypt everything with a new key; no session ends
//	studiod token rotate   # sign access tokens with a new key; older tokens stay valid until they expire
//
// Access tokens are JWTs signed with Ed25519. Other services can verify them with the public keys at
// /.well-known/jwks.json, but cannot tell which tokens were revoked.
//
// # Videos
//
// If ffmpeg is installed, studio-render, which must be in the directory of studiod, makes videos. espeak-ng
// speaks text. The flag --renderer exec:PROGRAM runs another program (see package
// server/internal/render/protocol). Without ffmpeg, renderings are simulated: they succeed without a file,
// unless the title contains [fail].
//
// The flag --media says where files are stored: file:DIR, by default a directory beside the database, or
// s3://BUCKET. Responses contain signed URLs of files, which expire after --media-url-ttl (24 hours) and
// begin with --public-url.
//
// The command "studiod work" only renders, on any number of machines, in addition to "studiod serve
// --render-workers 0". It needs PostgreSQL and a bucket. Rendering is shared fairly between users.
//
// # Webhooks
//
// An event is delivered at least once, always with the same webhook-id, and before the next event of its
// avatar, video or lip-sync. A 2xx response accepts it. Otherwise it is retried, with up to 12 attempts in all
// within about three days. A 4xx response other than 408, 425 and 429 ends it from the 6th attempt on, and 410
// at once. Webhooks are sent to public https addresses only. The flags --allow-http-webhooks and
// --webhook-allow 10.0.0.0/8 allow more.
//
// A daemon makes up to --workers (256) delivery attempts at the same time, and more if that many users have
// events, one for each. A receiver is a scheme, host and port. All daemons together have up to --receiver-in-flight (4) attempts in flight to one receiver, and
// start up to --receiver-rate (50) attempts per second. After 10 consecutive failures, the circuit breaker
// of a receiver opens for 30 seconds to 5 minutes. Attempts are shared fairly between users, and between
// the receivers of a user.
//
// An event that is not accepted by its last attempt is exhausted, and is kept for 30 days. After a long
// outage of a receiver, list the events that it missed and replay them. --since and --until apply to the
// creation of events, not to attempts:
//
//	studiod event list --state exhausted --since 96h
//	studiod event show --excerpt EVENT_ID      # every attempt, with the receiver's response
//	studiod endpoint list                      # URLs that responded with 410
//	studiod endpoint enable ENDPOINT_ID        # before their events are replayed
//	studiod event replay --since 96h --until 72h --dry-run
//	studiod event replay --since 96h --until 72h
//
// A replay keeps the webhook-id, so a receiver that stores ids drops events that it has already handled.
// The query of a webhook URL may contain a secret and is never printed.
//
// # Connections
//
// A daemon keeps up to --max-connections (2048, or half of the file limit). Up to
// --max-connections-per-address (1024) of them may come from one IPv4 address or IPv6 /64 network. To
// accept another connection, the daemon closes the one that has been idle longest, first among addresses
// that have more than their share. After 10 seconds, a request body must arrive at --min-body-rate (8
// KB/s). A body may have at most 16 KiB if its operation needs no token. All bodies together may use
// --max-body-memory (24 MB), and a request whose body does not fit gets 503. The garbage collector is tuned to
// keep the daemon below 256 MB at these limits. GOGC and GOMEMLIMIT override its settings.
//
// With --tls-cert FILE and --tls-key FILE, the port serves TLS 1.2 and 1.3 with HTTP/2 and HTTP/1.1. The
// files are read again every second. New connections use the new certificate, and open connections are not
// affected. A certificate and key that do not match are logged, and the previous pair stays in use. Of an
// HTTP/2 connection, each concurrent request after the first counts as another connection. A connection has
// up to 100 concurrent requests.
//
// Behind a proxy, --trusted-proxies 10.0.0.0/8,2001:db8::/32 names the networks of proxies. The address of
// the client, for the login limits and the log, is the rightmost address of X-Forwarded-For that is not in
// these networks. The header is ignored if it does not come from a trusted proxy. The connections of a
// trusted proxy belong to many clients: they count towards --max-connections, but not towards the limit per
// address. Limit the connections of one client in the proxy.
//
// # Logins
//
// Failed logins delay the next login with the same email from the same address, from the 11th failure on
// and longer each time. From an address at which the user has logged in within 30 days, nothing else delays
// a login. From other addresses, 50 failures for the email, or 100 from the address, also delay it, by up
// to a minute. Half of the processors compare passwords, and logins from known addresses come first. A
// login that would have to wait too long gets 503. All daemons on a database share these counts.
//
//	studiod user password ada@example.com   # set a new password and end all sessions
//	studiod token revoke ada@example.com    # end all sessions
//	studiod user delete ada@example.com     # with records, files and secrets
//
// # Limits
//
// These rate limits apply to each user, in the API and the console together: --user-reads (20,000) requests
// per second that change nothing, --user-creations (10,000) creations, --user-uploads (1,000) uploads, and
// --user-changes (10,000) other changes. The burst is one second's worth. Requests over a limit get 429
// with Retry-After. Daemons on a PostgreSQL database share the limits: each has a fair share, and what the
// other daemons do not use.
//
// The number of creations that wait for rendering or are being rendered is limited to --user-in-progress
// (100,000) for each user. Further creations get 429, too. The files that a user uploads within seven days
// may have --user-media (100,000 MB) together. A file over that limit gets 413.
//
// # Metrics
//
// A daemon serves operators at --admin-addr (127.0.0.1:9090, or off). The address must not be public:
//
//	/metrics       for Prometheus; no label contains a URL, a user or an id
//	/healthz       200 while the process lives
//	/readyz        200 when requests are served and the database is available and migrated
//	/debug/pprof/  profiles
//
// All daemons on a database report the same waiting work, so use the maximum over them, not the sum.
// /readyz reports it, too, but it does not make a daemon unready. If another process uses the default port,
// a daemon logs a warning and runs without it. An address that --admin-addr names must be free.
//
// The directory deploy contains alert rules for Prometheus and a dashboard for Grafana.
//
// Log lines go to stderr, as text on a terminal and as JSON otherwise. --log-format text or json overrides
// that. The log lines about the rendering and the deliveries of a creation have the request_id of its
// request.
//
// # Traces
//
// With --otlp http://HOST:PORT, or OTEL_EXPORTER_OTLP_ENDPOINT, serve and work send traces to an
// OpenTelemetry collector. A trace begins with a request that creates something. It contains the work in
// the database, the rendering, and each delivery attempt, no matter which daemon makes the attempt and how
// much later. The receiver gets the span of the attempt as traceparent (W3C Trace Context), which is not
// signed. Variables such as OTEL_EXPORTER_OTLP_HEADERS, OTEL_EXPORTER_OTLP_CERTIFICATE and
// OTEL_RESOURCE_ATTRIBUTES are also read. With OTEL_SDK_DISABLED=true, no traces are sent.
//
// The flag --otlp-sample sets the share of traces to send (default 1, which is all). Clients cannot change
// it: each request begins a new trace, with a link to the traceparent of the client. Spans have the
// request_id of the log, but no URL, email, token or error text. A collector that is down or hangs delays
// nothing: up to 4,096 spans are queued, further spans are dropped, stopping waits for at most a second,
// and one line is logged.
//
// # Security
//
// The service defends against these attacks, as the named tests show:
//
//   - Requests from the service to private networks, by any spelling, redirect or DNS answer:
//     TestGuard_blocksRangesThatAreNotPublic, TestGuard_blocksAllNotationsOfAnAddress,
//     TestSend_blocksDNSRebinding and TestSend_followsNoRedirects in server/sender.
//   - Receivers that hang, respond slowly or never finish: TestSend_endsByTheDeadline in server/sender, and
//     TestHungReceiver_oneOfAHundredDelaysNoOther in server/internal/soak.
//   - Clients that exhaust connections or the memory for bodies: TestProcess_survivesHostileConnections
//     in server/cmd/studiod.
//   - Password guessing, and guesses that lock out the owner: TestProcess_correctLoginDuringGuessing in
//     server/cmd/studiod.
//   - Tokens that are forged, revoked, or belong to a deleted user: TestTokens_rejectForeignTokens
//     in server/internal/auth, and TestCommands_endSessions in server/cmd/studiod.
//   - Users who access data of other users: TestFind_hidesSubjectsOfOtherUsers in server/internal/studio,
//     and TestSubjects_areHiddenFromOtherUsers and TestOperator_hidesPagesFromOtherUsers in
//     server/internal/console.
//   - Users who use more than their share: TestProcess_daemonsShareUserRates in server/cmd/studiod.
//   - Forms and scripts of other sites in the console: TestSession_rejectsCrossOriginForms and
//     TestConsole_allowsThisOriginOnly in server/internal/console.
//   - Hostile media: TestRun_rejectsDecompressionBombs in server/cmd/studio-render, and
//     TestExec_enforcesLimits in server/internal/render.
//   - Secrets in logs, errors and responses: TestHandler_echoesNoSubmittedValue in server, and
//     TestReceiver_hidesItsSecrets in client/webhook.
//   - Forged or changed webhooks: TestVerify and TestVectors in api/standardwebhooks.
//   - Keys and webhook secrets in a copy of the database: TestStore_Seal_encryptsKeysAndSecrets and
//     TestStore_Seal_bindsAValueToItsRow in server/internal/store.
//
// The service does not defend against these: whoever reads the database and the key file, or the memory of
// a daemon, has every secret. Everything else in the database, and the media, is not encrypted. Requests
// without a token have no rate limit, apart from logins, so a flood of them takes CPU time. A proxy or a
// firewall can limit them.
//
// Report vulnerabilities to the maintainers in private, not in a public issue.
package main

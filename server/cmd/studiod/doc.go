// Studiod serves Avatar Studio: the contract in api/openapi.yaml, kept in a database, with signed
// webhooks and a renderer that makes videos.
//
//	studiod serve                      # SQLite in the user's data directory
//	studiod user add ada@example.com   # asks for a password
//	studiod workspace add Team         # prints the id
//	studiod workspace member WORKSPACE_ID ada@example.com
//	studiod project import --workspace WORKSPACE_ID projects.json
//	studiod secret show ada@example.com
//
// Every flag of serve has a twin in the environment: --render-time is STUDIO_RENDER_TIME. Commands work
// beside a running daemon. Bad input ends a command with one line and exit code 2, any other failure
// with one line and exit code 1.
//
// # In the browser
//
// The reference of the API is at /docs, and at /console are pages on which users see and make what the
// API offers them, find out what became of their notifications, and replay them, with the same login. The flags --docs=false and --console=false switch them off. Behind
// a proxy that adds TLS, --public-url must begin with https:, so that browsers send the cookie of a session
// by https alone.
//
// # Databases
//
// The flag --db names the database: sqlite:PATH is a file that one daemon has to itself;
// postgres://USER@HOST/DATABASE is shared by any number of daemons, with the password in PGPASSWORD or
// in ~/.pgpass. Daemons share the deliveries of a PostgreSQL evenly. When one is killed, frozen or cut
// off, another takes over its deliveries within 5 seconds and its renderings within 20. On SQLite, the
// next start continues both at once.
//
// While the database is away, busy, full, damaged or read-only, requests are answered 503 with
// Retry-After, and the log has the cause. A daemon ends when its SQLite file is deleted, replaced or
// emptied. At its start it takes the permissions of others from that file, and warns if there were any.
//
//	studiod backup FILE    # SQLite, beside a running daemon
//	studiod restore FILE   # where there is no database yet
//	studiod check          # look for rows that contradict each other
//
// PostgreSQL is backed up with pg_dump and restored with pg_restore; the help of both commands shows how.
//
// # Keys
//
// The keys that sign access tokens, and the webhook secrets, are encrypted in the database with AES-256-GCM,
// each for its row alone. The key for that is in a file of its own. Beside a SQLite database, studio.db, the
// first start makes one, studio.keys, that only its owner can read. For a PostgreSQL give all daemons,
// workers and commands the same: --key-file FILE with a line from "openssl rand -base64 32", or that line in
// STUDIO_KEYS. Without it they warn and leave secrets in clear. What is in clear is encrypted at the next
// start with a key. A start with another file, or without it, ends with an error. A backup needs the key
// file: keep a copy of it, and not in the same place. Stop daemons of earlier versions before you give a
// key: they cannot read what is encrypted.
//
//	studiod key rotate     # encrypt everything with a new key; no session ends
//	studiod token rotate   # sign access tokens with a new key; those of the old one stay valid until they expire
//
// Access tokens are JWTs signed with Ed25519. Others check them with the public keys that the port answers
// at /.well-known/jwks.json, but cannot tell which were revoked.
//
// # Videos
//
// With ffmpeg installed, studio-render beside studiod makes videos; espeak-ng speaks text. The flag
// --renderer exec:PROGRAM runs another program (see package server/internal/render/protocol). Without
// ffmpeg, renderings are simulated and succeed without a file, unless the title contains [fail].
//
// Files are kept in --media: file:DIR, beside the database by default, or s3://BUCKET. Answers carry
// signed URLs of them that expire after --media-url-ttl (24 hours) and begin with --public-url.
//
// The command "studiod work" renders and does nothing else, on any number of machines, beside
// "studiod serve --render-workers 0". It needs PostgreSQL and a bucket. Users take turns at renderings.
//
// # Webhooks
//
// An event is delivered at least once, always with the same webhook-id, and before the next event of its
// avatar, video or lip-sync. A 2xx accepts it. Otherwise it is retried up to 12 times within three days,
// 6 times after most 4xx, and not after 410. Webhooks go to public https addresses only;
// --allow-http-webhooks and --webhook-allow 10.0.0.0/8 permit more.
//
// A daemon makes up to --workers (256) attempts at once. All daemons together have up to
// --receiver-in-flight (4) attempts in flight to one scheme, host and port, and make --receiver-rate (50)
// a second. After 10 failures in a row the circuit breaker of a receiver opens for 30 seconds to 5
// minutes. Users take turns, and so do the receivers of a user.
//
// An event that was not accepted in the end is exhausted and kept for 30 days. After a receiver was down
// for long, list what it missed and replay it. Times are those of the events, not of the attempts:
//
//	studiod event list --state exhausted --since 96h
//	studiod event show --excerpt EVENT_ID      # every attempt, and what the receiver answered
//	studiod endpoint list                      # URLs that answered 410
//	studiod endpoint enable ENDPOINT_ID        # before their events are replayed
//	studiod event replay --since 96h --until 72h --dry-run
//	studiod event replay --since 96h --until 72h
//
// A replay keeps the webhook-id, so a receiver that remembers ids drops what it knows. The query of a
// webhook URL may hold a secret and is never printed.
//
// # Connections
//
// A daemon keeps up to --max-connections (2048, or half of the file limit), of which
// --max-connections-per-address (1024) may come from one IPv4 address or IPv6 /64. For one more it closes
// the one that was idle for longest, first of addresses with more than their share. A request body must
// come at --min-body-rate (8 KB/s) after 10 seconds, may have 16 KiB where the operation needs no token,
// and shares --max-body-memory (24 MB) with the others: a body without room is answered 503.
//
// With --tls-cert FILE and --tls-key FILE the port speaks TLS 1.2 or 1.3, HTTP/2 and HTTP/1.1. The files
// are read again every second: new connections get a new certificate, those that are open go on, and a
// pair that does not fit is logged and leaves the one before in use. Of an HTTP/2 connection, each
// request but the first counts as a connection more, and there are up to 100 at once.
//
// Behind a proxy, --trusted-proxies 10.0.0.0/8,2001:db8::/32 names its networks. The rightmost address of
// its X-Forwarded-For that is not in them is the client's, for the limits of logins and the log; of anybody
// else the header is ignored. The connections of a trusted proxy are those of many clients: they count
// with all others but not for an address, so limit in the proxy what one client may open.
//
// # Logins
//
// Failed logins delay the next login with the same email from the same address, from the 11th on and
// longer each time. From an address at which the user has logged in within 30 days, nothing else delays a
// login. From other addresses, 50 failures for the email or 100 from the address delay it too, by up to a
// minute. Passwords are compared on half of the processors, known addresses first; a login that would
// wait for long is answered 503. All daemons on a database count together.
//
//	studiod user password ada@example.com   # a new password; ends all sessions
//	studiod token revoke ada@example.com    # ends all sessions
//	studiod user delete ada@example.com     # with records, files and secrets
//
// # Limits
//
// A user may make --user-reads (20,000) requests a second that change nothing, --user-creations (10,000)
// creations, --user-uploads (1,000) uploads and --user-changes (10,000) other changes, and as many at
// once after a rest. One more is answered 429 with Retry-After. Daemons on a PostgreSQL share the limits:
// each has a fair part, and what the others leave of the rest.
//
// Creations that wait for their rendering or are rendered are limited to --user-in-progress (100,000):
// one more is answered 429 too. Files that a user has uploaded in seven days may have --user-media
// (100,000 MB) together; a larger one is answered 413.
//
// # Metrics
//
// A daemon serves operators at --admin-addr (127.0.0.1:9090, or off), which must not be public:
//
//	/metrics       for Prometheus; no label has a URL, a user or an id
//	/healthz       200 while the process lives
//	/readyz        200 when requests are served and the database is there with its tables
//	/debug/pprof/  profiles
//
// What waits is the same for all daemons on a database: take the max over them, not the sum. /readyz shows
// it too, but it makes no daemon unready. If another process has the default port, a daemon logs a warning
// and serves without it; a port that --admin-addr names must be free.
//
// The directory deploy has alert rules for Prometheus and a dashboard for Grafana.
//
// Log lines go to stderr, as text on a terminal and as JSON elsewhere; --log-format text or json decides.
// The request_id of a creation is also in the lines about its rendering and its deliveries.
//
// # Security
//
// What is defended, and the test that shows it:
//
//   - Requests from the service to private networks, by any spelling, redirect or DNS answer: package
//     server/sender.
//   - Connections, bodies and logins that strangers use up: TestProcess_servesBesideACrowd.
//   - Hostile media: TestRun_unpacksNoBomb in server/cmd/studio-render, and server/internal/talkinghead.
//   - Secrets in logs, errors and answers: the canary tests of packages server and client.
//   - A webhook that was forged or changed: package api/standardwebhooks, against other libraries.
//   - Keys and webhook secrets in a copy of the database: TestStore_sealsKeysAndSecrets in
//     server/internal/store.
//
// What is not: who reads the database and the key file, or the memory of a daemon, has every secret; all
// else in the database, and the media, is not encrypted. Report a weakness to the maintainers in private,
// not in a public issue.
package main

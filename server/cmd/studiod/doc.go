// Studiod serves the Avatar and Video Project Service of api/openapi.yaml. It stores its data in a database, renders
// videos, and delivers signed webhooks.
//
//	studiod serve   # SQLite in the user's data directory
//
// Without users, it prints a link for the first operator, who also gets a workspace. The link is valid once and for 30
// minutes, and each start prints another one until one is used. Everything that the console does can be done by commands:
//
//	studiod user add ada@example.com   # asks for a password
//	studiod workspace add Team         # prints the id
//	studiod workspace member WORKSPACE_ID ada@example.com
//	studiod workspace list; studiod user list
//	studiod project import --workspace WORKSPACE_ID projects.json
//	studiod secret show ada@example.com
//
// Each flag of serve has an environment variable: the variable of --render-workers is STUDIO_RENDER_WORKERS. Commands
// also work while a daemon is running. On failure, a command prints one line. Its exit code is 2 after invalid input
// and 1 otherwise, also if the host of the database is unknown.
//
// # Packages
//
// A release has packages for Debian and Red Hat systems. They add the user studiod and the service, start it, and print
// the link for the first operator:
//
//	apt install ./studiod_VERSION_amd64.deb                       # dnf install ./studiod-VERSION-1.x86_64.rpm
//	apt install --allow-downgrades ./studiod_VERSION_amd64.deb   # back to the previous version; dnf downgrade
//
// The settings are in /etc/studiod/studiod.env, and the data is in /var/lib/studiod. An upgrade keeps both and restarts the
// service. "apt remove" also keeps both, and "apt purge" deletes them and the user. The packages include studio,
// studio-render, completions for bash, fish and zsh, and manual pages, which "studiod man" and "studio man" print.
//
// # In the browser
//
// The API reference is at /docs. At /console, to which / leads, users log in with the credentials of the API. They
// create avatars and videos, and view and replay their notifications. The flags --docs=false and --console=false
// disable the pages. Behind a proxy that adds TLS, --public-url must begin with https:, so that browsers send the
// session cookie over https only. The pages load nothing from other origins, but link to the thumbnails and videos of
// imported projects.
//
// In the console, an operator also invites users, resets their passwords, ends their sessions, disables them, changes their
// role, manages workspaces and their members, and pauses all notifications. Invitations (7 days) and resets (24 hours) are
// links that work once; the operator sends them, or studiod with --smtp. An operator sees the queues and their age, the processes that render and
// deliver, and the failing receivers, but not the records of other users. Operators can remove neither themselves nor the
// last operator. A disabled user cannot log in, and API keys of the user are refused; what is being rendered or sent goes
// on. A change of the role takes effect at once:
//
//	studiod user role olga@example.com operator
//	studiod user role olga@example.com user
//	studiod audit   # what operators did, in the console and by commands; kept for a year
//
// # Mails
//
// With --smtp, studiod also sends mails. They need a public URL, to which they link, from --public-url or --domain:
//
//	STUDIO_SMTP_PASSWORD=… studiod serve --domain studio.example.com --smtp 'smtp://USER@HOST:587?from=studio@example.com'
//
// The sender in ?from= can be omitted if USER is an email address. smtp:// requires STARTTLS, except from a server on this
// machine, and smtps:// begins with TLS. Without USER, studiod does not log in. These mails are sent:
//
//   - Invitations and resets that an operator makes in the console. Their links are still shown. Up to 256 such mails wait,
//     in memory, and each is tried up to 4 times within about 6 minutes. A restart loses those that wait, so send the link
//     yourself if a mail does not arrive.
//   - To a user, when a webhook URL has failed for a day or was disabled because it responded with 410. All daemons together
//     send at most one mail a day for each user and URL. A mail that the server does not accept for now is tried again after
//     10 minutes. Mails do not contain the query of the URL, which may be a secret.
//
// No request waits for the mail server. A try ends after 30 seconds. The first mail that fails is logged, and the next one
// that is sent; studiod_mails_total counts all.
//
// # Databases
//
// The flag --db sets the database. sqlite:PATH is a file for one daemon. Any number of daemons can share
// postgres://USER@HOST/DATABASE. Its password is read from PGPASSWORD or ~/.pgpass. The daemons on a PostgreSQL
// database share the deliveries evenly. If a daemon is killed, frozen or disconnected, another takes over its
// deliveries within 5 seconds and its renderings within 20 seconds. On SQLite, the next start continues both at once.
//
// While the database is unreachable, busy, full, damaged or read-only, requests get 503 with Retry-After,
// and the daemon logs the cause. A daemon exits if its SQLite file is deleted, replaced or emptied, and does not start
// if the file is missing or empty but has a key file. At its start, it removes the permissions of other users from the
// file, and logs a warning if there were any.
//
//	studiod check   # report inconsistent rows
//
// A daemon or a command of a new version migrates the tables when it starts, and logs that. One can go back one version: the
// previous one works with the migrated tables, and an older one refuses them. On PostgreSQL, daemons of the previous
// version still work after the migration, and can be restarted. So replace them one after the other (rolling update):
// remove each from the load balancer, and then stop it with SIGTERM. SIGHUP stops it only if its terminal is closed. If
// a daemon exits because it does not get the lock for its migration, start it again. Upgrade one version at a time, or
// stop all daemons.
//
// # Backups
//
// With --backup, a daemon backs up its database and its files to a place on another machine, each --backup-every (1h):
//
//	studiod serve --backup 's3://BUCKET/PREFIX?region=…'
//	studiod serve --backup file:/mnt/backups/studio
//
// The daemon writes a snapshot of the SQLite database, compresses and encrypts it, and restores it next to the database for
// a check, which needs space for three databases. Then it copies the files that the place lacks, and uploads the snapshot
// last: so a backup with a snapshot is complete. The place keeps the latest backup, and the latest of each of the last 24
// hours, 7 days and 4 weeks that have one. A deleted file stays until no kept backup needs it, for about four weeks. The
// place must belong to one installation and hold nothing else. In a bucket, the daemon needs the permissions that it needs
// for --media, and nobody else should be able to delete.
//
// Backups are encrypted with the key file, in the format of age (age-encryption.org) with a key of its own for each file.
// Without the key file, a backup is lost: keep a copy in another place. On a new machine, one command restores all:
//
//	studiod restore --key-file studio.keys 's3://BUCKET/PREFIX?region=…@latest'
//	studiod restore --key-file studio.keys file:/mnt/backups/studio@2026-11-22T10:00
//
// What was written after the backup is lost, at most an interval and the time that a backup takes. Stop the daemon of the
// old machine first, if it still runs. If a backup fails, the daemon tries again after a minute, and later with each
// interval. It logs a warning when backups begin to fail, and a line when they succeed again. The console and /metrics show
// the age of the latest backup and the step that fails, and an alert in deploy fires after three intervals without one.
//
//	studiod backup FILE    # a snapshot of a SQLite database without its files
//	studiod restore FILE   # to a new database
//
// Of a PostgreSQL database, --backup and restore copy only the files. Daemons share the place. Back up the database with
// pg_basebackup and an archive of the write-ahead log (WAL), so that it can be restored to any time, or with pg_dump:
//
//	archive_mode = on   # in postgresql.conf
//	archive_command = 'test ! -f /mnt/wal/%f && cp %p /mnt/wal/%f'
//	pg_basebackup --pgdata=/mnt/base --wal-method=stream --checkpoint=fast
//	pg_dump --format=custom --no-owner --file=FILE "postgres://…"
//
// Restore the database to an earlier time than the files, so that each record has its files.
//
// # High availability
//
// Run two or more daemons, and a PostgreSQL primary with a standby. Name both hosts, and replicate synchronously:
//
//	studiod serve --db 'postgres://USER@HOST1,HOST2/DATABASE?sslmode=verify-full'
//	synchronous_standby_names = 'ANY 1 (standby1, standby2)'   # in postgresql.conf; synchronous_commit stays on
//
// A daemon connects to all hosts at the same time and uses the one that accepts writes. So it finds the new primary
// after a promotion, and a host that hangs does not delay it. Every daemon checks its connections twice a second. If
// there is no response for 2 seconds, it closes all of them and connects again. No statement waits longer than 7
// seconds for a response.
//
// studiod does not promote a standby. Use a tool for that, such as Patroni. It must stop the old primary first, also if
// that hangs and may continue later. Otherwise there are two primaries, and a daemon may use either.
//
// With synchronous replication:
//
//   - A successful response to a write means that the standby has the change, also if the request repeats an
//     Idempotency-Key. The responses to reads may contain changes that the standby does not have yet.
//   - An event is sent after the standby has it. The receivers see no event that a promotion loses.
//   - While no standby responds, writes get 503 and deliveries pause. With two standbys, one may be down.
//
// Without it, a promotion loses the last changes, and events that were already sent may be repeated with other ids.
//
// After a promotion, deliveries continue within 5 seconds and renderings within 20 seconds. In the tests, on two
// shared cores, it took 3.7 seconds after the primary hung or all connections died silently, and 0.5 seconds if the
// first host hung from the start. A standby was down for 20 seconds under load, the primary was killed, and the standby
// was promoted: no acknowledged creation was lost, and all events were delivered within 4 seconds.
//
// A pooler such as pgbouncer is not supported: notifications, leases and prepared statements need the session of a
// connection. Each daemon uses up to 16 connections (pool_max_conns sets 14 of them).
//
// # Keys
//
// The keys that sign access tokens, and the webhook secrets, are encrypted in the database with
// AES-256-GCM, each bound to its row. The encryption key is in a separate file. For a SQLite database
// studio.db, the first start creates studio.keys, which only its owner can read. For PostgreSQL, give all
// daemons, workers and commands the same key: --key-file FILE with a line from "openssl rand -base64 32",
// or that line in STUDIO_KEYS. Without a key, they log a warning and store secrets as plain text. The next
// start with a key encrypts the secrets. Later starts fail with a wrong key file and without the key file. If every
// user of the machine can read the key file, a start logs a warning.
//
// A backup cannot be used without the key file. Keep a copy of the file, in another place than the backup. Stop all
// daemons before you configure the first key, and do not configure it during a rolling update: daemons without the key
// cannot read encrypted secrets, and older daemons may not support key files.
//
//	studiod keyfile rotate # encrypt all secrets with a new key; sessions stay valid
//	studiod token rotate   # sign access tokens with a new key; older tokens stay valid until they expire
//	studiod keyfile reset  # go on without a lost key; says what is lost, and asks
//
// Access tokens are JWTs signed with Ed25519. Other services can verify them with the public keys at
// /.well-known/jwks.json, but these do not show which tokens are revoked.
//
// # Videos
//
// The program studio-render, in the directory of studiod, renders videos. It needs ffmpeg, and espeak-ng for speech.
// The flag --renderer exec:PROGRAM sets another program (see package server/internal/render/protocol). Without ffmpeg,
// renderings are simulated: they succeed without a file, unless the title contains [fail]. A simulated avatar has the
// check "simulated". Once videos are rendered, a video of it fails with this reason.
//
// The videos of studio-render, and the pictures of them in PNG, contain the IPTC digital source type compositeSynthetic as
// XMP. They have no C2PA manifest, which platforms trust only if it is signed with a certificate of their trust list.
//
// The renderer lists the voices that speak text, which creations can name. A daemon with --render-workers 0 runs
// --renderer for this list only. Without a list, it accepts every voice, and the video fails if there is none.
//
// On Linux with bubblewrap, the renderer runs in a sandbox, in user, mount, PID, network, IPC and UTS namespaces of its
// own. It has no network, no privileges and no other processes than its own, which end with it. It can read /usr, the
// directories of PATH, and the paths in --renderer. It can write to its working directory, which is in TMPDIR. The flag
// --render-paths adds files, devices such as /dev/nvidia0, and sockets of other services. If bubblewrap is not
// installed or the system does not allow namespaces, the start logs a warning with the cause, and the renderer has the
// permissions of the daemon. If the daemon runs as root, the renderer runs as nobody (65534), which must be able to
// read and execute these files. The systemd unit allows the sandbox. A container needs the options in the Dockerfile. A
// sandbox does not limit the size of TMPDIR, so put it on a disk of its own. Each process of the renderer may use half
// of the memory of the machine.
//
// The flag --media sets the storage of files: file:DIR, by default a directory next to the database, or s3://BUCKET.
// Responses contain signed URLs of files, which expire after 24 hours and begin with --public-url. Every hour, studiod
// erases files that no record needs, and what a crash left of a write. In a bucket, it therefore also needs the
// permissions s3:ListBucketMultipartUploads and s3:AbortMultipartUpload.
//
// A video that its owner shares has a page at /share/LINK, with its title and captions, for everyone who has the link. The
// link is signed. Each request checks it, so it ends at once on all daemons when the owner stops sharing or deletes the
// video. Search engines are told not to index the page, and chats show a picture of the video.
//
// The command "studiod work" only renders, on any number of machines, in addition to "studiod serve
// --render-workers 0". It needs PostgreSQL and a bucket. Rendering is shared fairly between users.
//
// # Webhooks
//
// An event is delivered at least once, always with the same webhook-id, and before the next event of its
// avatar, video or lip-sync. The receiver accepts it with a 2xx response. Otherwise studiod retries it, with up to 12
// attempts within about three days. A 4xx response other than 408, 425 and 429 ends the retries after 6 attempts, and
// 410 ends them at once. Webhooks are sent to public https addresses only. The flags --allow-http-webhooks and
// --webhook-allow 10.0.0.0/8 allow others.
//
// A daemon makes up to --delivery-workers (256) concurrent delivery attempts. If no worker is free, a user without a
// running attempt still gets one. A receiver is a scheme, host and port. For each receiver, all daemons together make
// up to --receiver-rate (50) attempts per second, and up to 4 concurrent attempts for each 50 of that rate. After 10
// consecutive failures, the circuit breaker of a receiver opens for 30 seconds to 5 minutes. Attempts are shared fairly
// between users, and between the receivers of a user.
//
// An event whose last attempt fails is exhausted. studiod keeps it for 30 days. After a long outage of a receiver,
// list the missed events and replay them. --since and --until apply to the creation of events, not to attempts:
//
//	studiod event list --state exhausted --since 96h
//	studiod event show --excerpt EVENT_ID      # every attempt, with the receiver's response
//	studiod endpoint list                      # URLs that responded with 410; with --user all of a user
//	studiod endpoint enable ENDPOINT_ID        # before their events are replayed
//	studiod event replay --since 96h --until 72h --dry-run
//	studiod event replay --since 96h --until 72h
//
// To stop all deliveries for a while, for example during an incident, pause them. Events wait and are sent in order
// afterwards, with all their attempts. The pause is in the database: it holds for all daemons, also after a restart.
//
//	studiod delivery pause
//	studiod delivery status
//	studiod delivery resume
//
// A replay keeps the webhook-id, so a receiver that stores ids drops events that it has already handled.
// The query of a webhook URL may contain a secret and is never printed.
//
// # Connections
//
// A daemon keeps up to --max-connections (2048, or half of the file limit). Up to half of them may come from one IPv4
// address or IPv6 /64 network. To accept another connection, the daemon closes the one that has been idle longest,
// preferably of an address with more than its share. After 10 seconds, a request body must arrive at 8 KB/s. A body may
// have at most 16 KiB if its operation needs no token. All bodies together may use 24 MB, and a request whose body does
// not fit gets 503. Responses that clients have not read may use 32 MB together. When they use half of it, the daemon
// aborts those that have made no progress for 250 milliseconds, the oldest first. At these limits the daemon stays
// below 256 MB, unless GOMEMLIMIT sets another limit of the memory of the Go runtime.
//
// With --tls-cert FILE and --tls-key FILE, the port serves TLS 1.2 and 1.3 with HTTP/2 and HTTP/1.1. The
// files are read again every second. New connections use the new certificate, and open connections are not
// affected. If a certificate and key do not match, the daemon logs this and uses the previous pair. Responses tell
// browsers to use only https for this host for a year (HSTS); a proxy that adds TLS must do so itself. An HTTP/2
// connection can have up to 100 concurrent requests. Each of them after the first counts as another connection.
//
// With --domain studio.example.com, studiod gets a certificate from Let's Encrypt, whose terms of service you thereby
// agree to, and renews it in the last third of its time, without a restart. It listens on port 443, and on port 80, which
// must be reachable from the internet: there it proves the control of the domain, and redirects browsers to https. A port
// 80 that is closed is no problem if the authority reaches port 443. --public-url is then https and the domain. A daemon
// that is not root can use these ports after "sysctl net.ipv4.ip_unprivileged_port_start=80". --addr and --http-addr set
// other addresses, to which the ports must lead. --acme-directory sets another authority, whose root certificate
// must be among those of the system (the file SSL_CERT_FILE replaces these, also for webhooks):
//
//	studiod serve --domain studio.example.com
//
// Handshakes for other names fail, and no handshake makes studiod send a request to the authority. While the authority is
// down or rejects the domain, the daemon uses the certificate that it has. If there is none, handshakes fail. It logs why,
// and retries after 5 seconds to an hour, but after a failed validation at the earliest after 5 minutes, and after a rate
// limit when the authority allows it. A restart does not shorten that. /readyz reports when the certificate expires and
// when the next attempt is. The account, the certificate and its key are in the database, encrypted like other keys, so
// a restart or a restored backup needs no new certificate, and all daemons on a PostgreSQL database share one.
//
// Behind a proxy, set --trusted-proxies to the networks of proxies, such as 10.0.0.0/8,2001:db8::/32. The address of
// the client, for the login limits and the log, is the rightmost address of X-Forwarded-For that is not in
// these networks. The header is ignored if it does not come from a trusted proxy. The connections of a
// trusted proxy count towards --max-connections, but not towards the limit per address, because they belong to many
// clients. Limit the connections of one client in the proxy.
//
// # Logins
//
// From the 11th failed login with an email from an address on, the next login with this email from this address is
// delayed. Each failure increases the delay. An address from which the user logged in within 30 days is known and has
// no other delay. From other addresses, 50 failures for the email or 100 failures from the address also delay a login,
// by up to a minute. Up to half of the CPUs compare passwords, and logins from known addresses have priority. A login
// that would wait too long gets 503. All daemons on a database share the counts of failures.
//
//	studiod user password ada@example.com   # set a new password and end all sessions
//	studiod token revoke ada@example.com    # end all sessions
//	studiod user delete ada@example.com     # with records, files and secrets
//
// # API keys
//
// A program calls the service with an API key instead of the password of a person. A key is a Bearer token that begins
// with avs_, and scanners for leaked secrets find it as avs_[0-9A-Za-z]{38}. It is shown once, and the database has its
// hash only. A key can be limited to reading (--read-only), to a workspace (--workspace) and in time (--expires-in). A new
// password does not revoke it. No daemon accepts a revoked key when the command ends.
//
//	studiod key add ada@example.com "nightly batch"   # print a new key
//	studiod key list ada@example.com                  # with the time of the last use
//	studiod key revoke ada@example.com ID
//
// # Limits
//
// These rate limits apply to each user, in the API and the console together: --user-rate (10,000) creations per second,
// as many other changes, twice as many reads, and a tenth as many uploads. Bursts are limited to the requests of one
// second. Requests over a limit get 429 with Retry-After. Daemons on a PostgreSQL database share the limits: each has a
// fair share, and can use the unused shares of the others.
//
// Up to --user-in-progress (100,000) creations of a user can wait for rendering or be in rendering. Further creations
// get 429, too. Each daemon beyond the first may exceed this limit by a twentieth, and at least by one. The total size
// of the files that a user uploads within seven days is limited to --user-media (100,000 MB). An upload over that
// limit, or of more than 300 MB, gets 413. With --user-video-seconds, a user whose videos have reached this length in
// total can create no more: the creations of videos and lip-syncs get 403. Those in progress may exceed the limit.
//
// # Metrics
//
// At --admin-addr (127.0.0.1:9090, or off), a daemon serves operators. The address must not be public:
//
//	/metrics       for Prometheus; no label contains a URL, a user or an id
//	/healthz       200 while the process runs
//	/readyz        200 while requests are served, the database is available and migrated, and the daemon may deliver
//	/debug/pprof/  profiles
//
// The command "studiod health" asks /readyz for the health check of a container.
//
// All daemons on a database report the same queues, so use the maximum over the daemons, not the sum. /readyz also
// reports the queues, but a long queue does not make a daemon unready. Requests must name an IP address, a name without
// a domain, or the host of --admin-addr. Others get 421, because they may come from a page in a browser that resolves
// its own name to this address. If another process uses the default port, a
// daemon logs a warning and does not serve operators. If another process uses a port set by --admin-addr, it exits.
//
// The directory deploy contains alert rules for Prometheus and a dashboard for Grafana.
//
// Log lines go to stderr, as text on a terminal and as JSON otherwise. --log-format text or json overrides that.
// Durations have their unit, in JSON in their name: duration_seconds. Log lines about the rendering and the deliveries
// of a creation have the request_id of the creation.
//
// # Traces
//
// With OTEL_EXPORTER_OTLP_ENDPOINT=http://HOST:PORT, serve and work send traces to an OpenTelemetry collector. A trace
// begins with the request of a creation. It contains the database transactions, the rendering, and each delivery
// attempt, by any daemon and at any later time. The receiver gets the span of the attempt in the header traceparent
// (W3C Trace Context), which is not signed. studiod also reads variables such as OTEL_EXPORTER_OTLP_HEADERS,
// OTEL_EXPORTER_OTLP_CERTIFICATE and OTEL_RESOURCE_ATTRIBUTES. With OTEL_SDK_DISABLED=true, no traces are sent.
//
// To send a tenth of the traces only, set OTEL_TRACES_SAMPLER=parentbased_traceidratio and OTEL_TRACES_SAMPLER_ARG=0.1.
// Clients cannot change that, because each request begins a new trace, with a link to the traceparent of the client.
// Spans have the request_id of the log, but no URL, email, token or error text. A collector that is down or hangs does
// not delay requests: the queue has up to 4,096 spans, and further spans are dropped. A stopping daemon waits for the
// collector for at most a second.
//
// # Security
//
// The service defends against these attacks:
//
//   - Webhooks to private networks: every address that a name resolves to is checked at each attempt, in all
//     notations, and redirects are not followed. A name with a private address looks like a name that does not exist,
//     so nobody can list the names of a private network.
//   - Receivers that hang or never finish: an attempt ends after 15 seconds, and delays no other receiver.
//   - Clients that exhaust connections or memory: connections, bodies and unread responses have limits. At a limit,
//     the daemon closes idle connections and aborts stalled requests and responses.
//   - Password guessing: failed logins delay guesses, but not the owner at a known address.
//   - Forged and revoked tokens: tokens are signed, and stop working when their session or their user is removed.
//   - Leaked API keys: the database has only their hashes, scanners find them by their prefix, and a key can be limited to
//     reading, to a workspace and in time. A revoked key stops working within a second.
//   - Users who access data of other users: users and operators see only their own records.
//   - Users who use more than their share: all daemons on a database enforce the limits of a user together.
//   - Pages that resolve their own name to the admin address: requests for other hosts get 421.
//   - Forms and scripts of other sites in the console: forms of other origins are rejected, and pages load nothing
//     from other origins.
//   - Links to shared videos that are guessed or kept: links are signed, a video that is shared again gets another link,
//     and no log line contains one.
//   - Pipes and links in the directory of files: only regular files are served.
//   - Hostile media: files are checked before they are decoded, and renderers have limits of CPU time, memory and
//     files. In a sandbox, a renderer that a file has taken over cannot reach the daemon.
//   - Secrets in logs, errors and responses: errors and log lines contain no secret and no submitted value.
//   - Forged or changed webhooks: each is signed with its id and time (Standard Webhooks).
//   - Keys and webhook secrets in a copy of the database: they are encrypted, each bound to its row.
//
// The service does not defend against an attacker who can read the database and the key file, or the memory of a
// daemon. Apart from keys and webhook secrets, the database and the media are not encrypted. Requests without a token
// have no rate limit, except for logins, so a flood of them uses CPU time. A proxy or a firewall can limit them.
//
// Report vulnerabilities to the maintainers in private, not in a public issue.
package main

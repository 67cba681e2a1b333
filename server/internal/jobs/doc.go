// Package jobs renders subjects and delivers their events. A subject is an avatar, a video or a lip-sync. A
// use case of package studio writes the state of a subject and the events about it in one transaction. The rows
// that it writes are the queue: they say which subjects must be rendered, and which events must be delivered,
// and when. Package jobs reads them, does the work, and writes its result into the same rows. No caller
// passes a subject or an event to it.
//
// The command "studiod serve" runs a [Trigger]. The command "studiod work" runs a [Worker], which is only the
// render pool. Who calls whom:
//
//	Trigger.Run                 starts each of these in a goroutine
//	├─ watch                    waits for Store.Due, which signals writes of this process; takes Store.TakeDue
//	│                           and TakeDeleted; wakes the deliverer
//	├─ laneHolder               tells the deliverer for which origins this process delivers: holdLanes,
//	│  │                        dropLanes, dropAllLanes
//	│  ├─ soleHolder            SQLite: all of them; polls Store.ChangedElsewhere for writes of other processes
//	│  └─ leaseHolder           PostgreSQL: the lanes of Store.LeaseHolder.Renew; hears other processes by
//	│                           Store.Listen, and notifies them by Store.NotifyDue
//	├─ deliverer                an event loop. Its goroutine owns the queue and the origins. It starts others for:
//	│  ├─ scan                  Store.DueFlows, Store.Breakers
//	│  ├─ fetch                 Store.Deliveries
//	│  └─ deliver               one attempt: Service.WebhookSecrets, Sender.Send, Store.Record
//	├─ renderPool               Store.ClaimRenderings for all free workers, after Store.RenderDue and when
//	│  │                        Store.NextRendering is due; wakes other processes by Store.NotifyRenderDue
//	│  └─ render                one rendering: Renderer.Render, Service.Rendered, which writes state and event
//	└─ prune, repairAll         Store.Prune every hour, Store.Repair once
//
// An origin is the scheme, host and port of a webhook URL. A flow, in the sense of fair queueing, is the
// events of one user for one origin. The deliverer knows every flow of its lanes that has pending events, but
// holds only a few deliveries of each in memory. All other events wait in the rows.
//
//	in rows    subjects     when each must be rendered, and which process renders it until when; when its
//	                        first pending event is due
//	           events       body, state, attempts made, when the next attempt is due
//	           attempts     the log
//	           endpoints    URLs that are switched off
//	           breakers     of origins, while they are open
//	           holders, lanes    which process delivers for which origins; PostgreSQL only
//	in memory  queue        for each user the flows; for each flow when it must be read again, up to
//	                        2 × Config.InFlight deliveries, at most 64, and the attempts in flight
//	           origins      attempts in flight, rate and consecutive failures of each
//	           secrets      the webhook secrets of users
//
// Deliveries and secrets in memory are used for at most one second. The contents of memory may be lost at any
// time. The deliverer reads all flows of its lanes again when it acquires the lanes, every 30 seconds, and
// when notifications may have been lost: after another process wrote to the SQLite file, after it has connected
// to listen, and after the lease of another process expired.
//
// The files, in the order of the picture: trigger.go; holder.go; deliverer.go is the event loop, flows.go
// schedules reads of flows, fetch.go reads deliveries, workers.go assigns free workers, queue.go is the fair
// queue, origins.go the limits of each origin, deliver.go makes and records one attempt, schedule.go decides
// its outcome and the backoff; renders.go claims and runs the renderings. jobs.go is the
// configuration, outcome.go what metrics count, trace.go the spans.
//
// # Fairness
//
// The next free worker goes to the user with the fewest busy workers, and there to the flow that has
// waited the longest. A user may have as many busy workers as there are free ones, so some are free for
// the next user. An attempt fails if the origin gives no answer, or one with 408, 425, 429 or 5xx. An
// origin is proven if it had an attempt and the last one did not fail. All unproven origins together use at
// most three quarters of the workers,
// and origins whose last attempt failed at most half. For unproven origins, a user has at most an equal share of
// these workers; the share counts one user more than have
// such origins now. If no worker is free, a user with no busy worker gets an extra one, except for an
// origin whose last attempt failed. With the extra workers, at most four times Config.Workers are busy.
//
// # Who delivers what
//
// No two attempts for one subject run at the same time. On SQLite, one process owns the database. On
// PostgreSQL, a hash assigns each origin to one of 256 lanes, and one process holds each lane. One process
// therefore enforces all limits of an origin, however many daemons run. A lease holder is a row that its
// process renews every 750 ms on a connection of its own. If the row is not renewed for [store.Lease],
// another process deletes it and takes the lanes. By then the first process has ended its attempts, by its
// own clock. A record names its lease holder as a fencing token: the transaction changes nothing if the row
// is gone. The record is one request to the server, so a process that freezes during it holds no lock.
//
// Lanes are rows and not jobs of a queue such as River. A job has no lease of a few seconds and no fencing
// token that a transaction could check, and is written four times, while a lane is written once each time it
// changes hands. Due events are announced by NOTIFY, and only if another process holds the lane. The
// notification follows the commit, because transactions that notify wait for each other. If a process dies
// between the commit and the notification, the event is found when the lease of the process expires.
//
// # Who renders what
//
// A process claims as many due renderings as it has free workers, with one statement. The claim chooses the
// user with the fewest renderings in progress on all machines. It writes the ID of the process into the row,
// and the process renews it every second. On PostgreSQL another process may take the subject over if the claim
// was not renewed for [store.RenderLease].
//
// The process in which a rendering becomes due is the first to claim it. If it has no free worker, it notifies
// the other processes. Every worker that ends claims again, and on PostgreSQL every process looks for due
// renderings every five seconds, so a lost notification only costs time. The claim replaces a queue: with one
// River job for each rendering, which only told a process to claim, the job was written four times and took
// two more commits.
//
// # Clocks
//
// On PostgreSQL the clock of the database decides what is due; each renewal of the lease reads it. On SQLite
// the clock of the machine does. If that clock is set back by more than one second, all due times are moved
// back with it, because retries would otherwise be late by the same amount. On PostgreSQL all lease holders
// then start again.
//
// # Repetition
//
// All work is idempotent or repeated safely, after a crash for instance. A rendering is repeated until its
// result is written. An attempt that was not recorded is made again with the same event ID, by which the
// receiver recognizes a duplicate.
//
// # Capacity
//
// On two shared cores that also ran the receivers, a delivery took 0.10 ms of CPU in studiod and 0.15 ms in
// PostgreSQL. This includes the attempt, reading the due event and the record. A creation with the records of
// its rendering took 0.32 ms in studiod and 0.70 ms in PostgreSQL, at 1,250 a second. The rendering itself is
// not included, because it runs on other machines. An event and its attempt take 1.0 KB with their indexes,
// and 7.4 KB of write-ahead log from the creation of the subject to the record. For 10⁹ creations with one
// event each a day, which is 11,600 a second and three times that at the peak, this means:
//
//	                                      each     11,600/s     35,000/s
//	studiod, deliveries                   0.10 ms  1.2 cores    3.5 cores
//	studiod, creations and renderings     0.32 ms  3.7 cores    11 cores
//	PostgreSQL, deliveries                0.15 ms  1.7 cores    5.3 cores
//	PostgreSQL, creations and renderings  0.70 ms  8.1 cores    25 cores
//	write-ahead log, everything           7.4 KB   86 MB/s      260 MB/s
//	events and attempts, 30 days          1.0 KB   30 TB
//
// If half of each machine is kept free for failures, four databases of 16 cores carry the peak, each with two
// daemons of 4 cores and 1,024 workers. A daemon uses 16 connections, which is no limit. The resources that run
// out, in order:
//
//   - Space: events and attempts are kept for 30 days after they ended, which is 3 × 10¹⁰ of each, and are
//     deleted row by row. They must be partitioned by day and dropped with their partition, or kept for hours.
//   - The write-ahead log, and the replica that follows it.
//   - Workers: 256 workers make 2,560 attempts a second at receivers that take 100 ms. The event loop of a
//     daemon takes 7 µs for each attempt, so it can serve many more workers.
//   - Origins: one process makes all attempts for one origin. At 50 a second for each, this is no limit.
//   - Lanes: 256 lanes are enough for 64 daemons on one database.
//
// Commits are no limit: up to 128 records share one by group commit.
//
// The data can be sharded by user: a subject, its events, attempts and secrets belong to one user, no
// transaction touches two users, and a token names its user. A shard is one PostgreSQL with its own daemons.
// A router in front finds the shard by a hash of the user ID. Two parts need more work. Rates, breakers and
// in-flight limits apply per origin and shard, so a receiver of users in N shards may get N times the rate:
// either divide the rate by N or assign such origins to one shard. Login by e-mail needs a table of e-mails
// and shards. None of this is implemented: studiod serves one database.
package jobs

// Package deliver delivers the events of subjects to webhook URLs. A subject is an avatar, a video or a lip-sync. A
// use case of package studio writes the state of a subject and its events in one transaction. These rows are the queue:
// they contain which events must be delivered, and when. A [Deliverer] reads the rows, makes the attempts, and writes
// their results into the same rows. No caller passes an event to it.
//
// The calls are:
//
//	Deliverer.Run              starts each of these in a goroutine
//	├─ watch                    waits for Store.Signal, after writes of this process; calls Store.TakeFlows;
//	│                           notifies other processes with Store.Notify
//	├─ listen                   receives notifications with Store.Listen
//	├─ lanes.Lanes              calls Hold and Drop with the lanes to deliver for. On SQLite these are all, and it
//	│                           polls Store.ChangedElsewhere; on PostgreSQL they are those of Store.LeaseHolder.Renew
//	├─ loop                     the event loop. Its goroutine owns the queue and the origins. It starts others for:
//	│  ├─ scan                  Store.DueFlows, Store.Breakers
//	│  ├─ fetch                 Store.Deliveries
//	│  └─ deliver               one attempt: Service.WebhookSecrets, Sender.Send, Store.SaveAttempt
//	├─ saveEndpoints            Store.SaveResults, what attempts tell about the URLs of users
//	├─ replay                   Store.ReplayNext, one batch of events after the other
//	└─ alert                    Store.ClaimAlert and Config.Alert, for URLs that fail or are disabled
//
// An origin is the scheme, host and port of a webhook URL. A flow, in the sense of fair queueing, is the
// events of one user for one origin. The deliverer has every flow of its lanes with pending events in memory, but
// only a few deliveries of each. All other events are only in the rows.
//
//	in rows    deliveries   subjects with pending events, the first of each, and when its next attempt is due
//	           events       body, state, attempts made, the last attempt
//	           attempts     the earlier attempts
//	           endpoints    the URLs of users: which are disabled, the last attempt and success, since when they fail
//	           breakers     open circuit breakers of origins
//	           pauses       deliveries that are not read, because an operator or their user has paused them
//	           replays      which ended events become pending again, and how far that is
//	           holders, lanes    which process delivers for which origins; PostgreSQL only
//	in memory  queue        for each user the flows; for each flow the time of its next read, up to
//	                        2 × Config.InFlight deliveries, at most 64, and fewer of many flows, and the
//	                        attempts in flight
//	           origins      attempts in flight, rate and consecutive failures of each
//	           secrets      the webhook secrets of users
//	           endpoints    the results of attempts that are not in the rows yet, for up to a second
//
// Deliveries and secrets in memory are used for at most one second. The contents of memory may be lost at any
// time. The deliverer reads all flows of its lanes again when it acquires the lanes, every 30 seconds, and
// when notifications may have been lost: after another process wrote to the SQLite file, after it has connected
// to listen, and after another process has gone.
//
// The files are: deliverer.go, the event loop; runner.go, what runs beside it; flows.go, which schedules reads of
// flows; fetch.go, which reads deliveries; workers.go, which assigns free workers; queue.go and heap.go, the fair
// queue; origins.go, the limits of each origin; deliver.go, which makes and records one attempt; schedule.go, which
// decides its outcome and the backoff; endpoints.go, the results of attempts; replays.go; alerts.go; config.go;
// trace.go, the spans.
//
// # Fairness
//
// An origin is proven if it had an attempt and the last one did not fail, failing if it failed, and otherwise untried.
// An attempt fails if the origin does not respond, or responds with 408, 425, 429 or 5xx. Each class has a queue of its
// own, so that the failing origins of a user do not delay his others. The next free worker goes to the user with the
// fewest busy workers in the class, and to the flow of this user that has waited the longest.
//
// Three rules bound the workers:
//
//  1. A user gets a worker of a class while more are free than it has busy there, so some stay free for the next user.
//  2. All origins that are not proven use at most three quarters of the workers together.
//  3. If no worker is free, a user without a busy worker in the class gets an extra one. Including extra workers, at
//     most four times Config.Workers are busy.
//
// # Assignment of deliveries
//
// No two attempts for one subject run at the same time. On SQLite, one process owns the database. On PostgreSQL, a
// hash assigns each origin to one of 256 lanes, and one process holds each lane. One process therefore enforces all
// limits of an origin, however many daemons run. A lease holder is a row that its process renews every 750 ms on a
// separate connection. If the row is not renewed for [store.Lease], another process deletes it and takes the lanes.
// By then, the first process has ended its attempts, according to its own clock. A process on the same machine does so
// at once if the first process has ended, which the lock of a file shows. A record of an attempt contains its
// lease holder as a fencing token: the transaction changes nothing if the row of the lease holder was deleted. The
// record is one request to the server, so a process that freezes during it holds no lock.
//
// A process that stops, or has more lanes than its share because another one has joined, releases them at once. It
// finishes and records the attempts that run, and their events wait for that, or if it is killed meanwhile, for 20
// seconds. So receivers that hang delay no others. Until the attempts have ended, an origin may have twice as many in
// flight, and a replay of an event does not wait for an attempt for a later event of its subject.
//
// Lanes are rows and not jobs of a queue such as River. A job has no lease of a few seconds and no fencing token that a
// transaction could check. It is also written four times, and a lane only once for each new holder. A process announces
// due events with NOTIFY if another process holds the lane. The notification follows the commit, because transactions
// with NOTIFY wait for each other. If a process is killed between the commit and the notification, the others find the
// event when the lease of the killed process has expired.
//
// # Clocks
//
// On PostgreSQL, due times follow the clock of the database, which each renewal of the lease reads. On SQLite, they
// follow the clock of the machine. If this clock is set back by more than one second, all due times are moved back by
// the same amount, because retries would otherwise be late. On PostgreSQL, all lease holders then start again. What is
// due later than any retry, because no process ran when the clock was set back, is made due by [store.Store.Prune].
//
// # Repetition
//
// An attempt that was not recorded, for example because of a crash, is repeated with the same event ID, so the receiver
// can detect the duplicate.
//
// # Cost of a delivery
//
// This is the cost of one delivery whose first attempt succeeds, if 20,000 events for 128 origins are waiting, on two
// cores. It includes the read of the event, the attempt, and the record, but not the creation of the event.
//
//	                        SQLite                           PostgreSQL
//	commits                 1/45, a group                    1/50, a group
//	statements              1/8 to read a flow, 2 to record  1/8 to read a flow, 3/50 to record
//	rows read               1 delivery, 1 event              1 delivery, 1 event
//	rows written            1 event, 1 delivery deleted      1 event, 1 delivery deleted, 1 subject locked
//	index entries           1 deleted                        0
//	bytes written           17,000: 4 pages                  1,200 of write-ahead log
//	bytes of the log        300                              300
//	allocations of studiod  190                              142
//	CPU time                0.13 ms                          0.08 ms studiod, 0.05 ms PostgreSQL
//	  request               0.045 ms                         0.045 ms
//	  record                0.055 ms                         0.007 ms studiod, 0.04 ms PostgreSQL
//	  read                  0.01 ms                          0.002 ms studiod, 0.01 ms PostgreSQL
//	  log                   0.006 ms                         0.006 ms
//
// Groups make a commit and a statement cheap, so one group is written at a time, and records wait for it. What is left
// are the rows. The queue is a narrow table, so that neither the read nor the end of a delivery touches the wide row of
// a subject, except for its lock. The last attempt is in the row of its event, which is written anyway; a row of its
// own would add a third to the record. No index contains what a delivery changes. On PostgreSQL, the statements of
// groups must keep their plans, because planning one takes longer than running it.
//
// The capacity of a database, and what would limit it first, are in server/internal/web/guide/capacity.md.
package deliver

// Package jobs does what is due for subjects: it renders them and delivers their events. The rows in
// the store hold all state, order and due times. [Trigger] does the work of a daemon:
//
//	store.Due, LISTEN --> Trigger --> renders    SQLite: a scan of what is due. PostgreSQL: River.
//	                         |
//	                         v         hold, drop, dropAll
//	                     deliverer <------------------------ holder: which lanes are this process's
//	                         |  in memory: queue (users, lines, a few deliveries of each) and origins
//	                         |  (rate, in flight, breaker). One goroutine owns both.
//	                         v
//	     Store.Deliveries, Sender.Send, Store.Record, each in goroutines of their own
//
// A line is what one user has due for one origin. Lines of all users and origins are known, but of each
// no more than a few deliveries are read, for a second at most: what waits, waits in the rows.
//
//	in rows: subjects (when each is due), events (body, tries, when the next is due), attempts (the log),
//	         endpoints (URLs that are off), breakers that are open; on PostgreSQL holders and lanes
//	in memory: which lines have something due and when, up to 64 deliveries of each line, what is in
//	         flight, the rate and failures of each origin, the secrets of users for a second
//
// What is in memory can be lost at any time. It is read again from the rows when a process starts, when it
// gets lanes, and every half minute.
//
// The files: deliverer.go is the loop, lines.go knows where something is due, workers.go decides who gets
// the next worker, fetch.go reads deliveries, deliver.go makes one attempt and records it, queue.go is
// whose turn it is, origins.go the limits of receivers, schedule.go when to try again, and holder.go who
// has the lanes. renders.go and river.go do the renderings.
//
// # Fairness
//
// The next free worker goes to the user who has the fewest attempts in flight, and then to the line of
// his that has waited the longest. A user may have as many in flight as there are workers free, so one
// who comes later finds some. Origins that have not answered lately share three quarters of the workers,
// and those whose last attempt failed half. Of these a user has no more than if all who have such
// origins, and one more user, had the same number. When more users than that have origins that hang,
// a user for whom nothing is at work gets a worker more, up to four times as many as there are.
//
// # Who delivers what
//
// For one subject, no two attempts are made at once. On SQLite a process has the database to itself. On
// PostgreSQL, origins are shared out by hash in 256 lanes, and one process holds each: all limits of an
// origin are kept in one place, however many daemons there are. A holder is a row that its process
// renews every 750 ms, on a connection of its own. When it was not renewed for [store.Lease], another
// process deletes it and takes its lanes; by then the first has ended its attempts, by its own clock. A
// record names its holder, and the transaction keeps nothing if that row is gone. It is one request to
// the server, so a process that freezes in the middle of one holds no lock.
//
// Lanes are rows and not jobs of River's, because a job has no lease of seconds, no token that a
// transaction could check, and is written four times where a lane is written when it changes hands. For
// the same reason work that becomes due is announced by a plain NOTIFY, and that only if another process
// holds its lane. It is sent after the commit: a transaction that notifies holds up every other that
// does. What was not announced, because a process died between the two, is found when its lease ends.
//
// # Who renders what
//
// Who renders a subject says so in its row, and that it still does so every second. On PostgreSQL others
// may take it when that was not said for [store.RenderLease]. River tells machines that there is a turn;
// whose turn it is, the rows say when it is taken: that of the user with the fewest renderings under way
// on all machines.
//
// # Clocks
//
// On PostgreSQL the clock of the database decides what is due; each renewal tells it. On SQLite it is
// that of the machine. When that clock is set back by more than a second, all due times are moved with it,
// or retries would wait for as long. On PostgreSQL all holders begin anew then.
//
// # Repetition
//
// Everything may be done again at any time, after a crash for instance: rendering is repeated until its
// result is written, and an attempt that was not recorded is made again with the same event id.
//
// # Beyond these machines
//
// On two shared cores, with the receivers on them too, a delivery took CPU of 0.21 ms in studiod and
// 0.29 ms in PostgreSQL: the attempt, reading what is due and the record. An event and its attempt take
// 1.0 KB with their indexes, and 9.6 KB of write-ahead log from the creation of its subject to the record.
// From that, 10⁹ events a day, 11,600 a second and three times that at the peak, need:
//
//	                                 each     11,600/s     35,000/s
//	studiod, deliveries              0.21 ms  2.5 cores    7.3 cores
//	PostgreSQL, deliveries           0.29 ms  3.4 cores    10 cores
//	write-ahead log, everything      9.6 KB   110 MB/s     340 MB/s
//	events and attempts, 30 days     1.0 KB   30 TB
//
// What makes the events is not in the first two lines; renderings run on machines of their own.
//
// Half of each machine stays free for failures, and a quarter of each database for what makes the events.
// Three databases of 16 cores, each with two daemons of 4 cores and 1,024 workers, have room for the peak.
// A daemon needs 16 connections, so those are no limit. What breaks first:
//
//   - Space: events and attempts are kept for 30 days after they ended, 3 × 10¹⁰ of them, and deleted row
//     by row. They must be partitioned by day and dropped with their partition, or kept for hours.
//   - The write-ahead log, and the replica that follows it.
//   - Workers: 256 of them make 2,560 attempts in a second at receivers that take 100 ms. The loop of a
//     daemon takes 7 µs for each attempt, so it has time for many more workers.
//   - Origins: all attempts for one are made by one process. That is no limit at 50 a second for each.
//   - Lanes: 256 of them are enough for 64 daemons on one database.
//
// Commits are no limit: up to 128 records share one.
//
// Databases share users: a subject, its events, attempts and secrets are of one user, no transaction
// touches two users, and a token names its user. So each shard is one PostgreSQL with its own daemons,
// and a router in front that knows the shard of a user by a hash of his id. What does not follow from
// that: rates, breakers and in-flight limits hold for an origin in each shard, so a receiver of users in
// N shards may get N times the rate. Either the rate is divided by N or such origins are given to one
// shard. Logging in by e-mail needs a table of e-mails and shards. Nothing of this is built: studiod
// serves one database.
package jobs

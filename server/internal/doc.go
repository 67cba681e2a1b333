// Package internal has no code. This page walks a creation, an event and a rendering through the rooms of the service.
// Each row is a room on the way, with the names that a reader must hold: what is passed on, and what passes it on. What
// only one of them calls is not among them. A test holds the names and their number.
//
// # A creation, from the request to the row: 28 names
//
//	server/cmd/studiod       openDaemon
//	server                   New, newHandler
//	server/internal/api/auth       Tokens
//	server/internal/api/ratelimit  Limiter, Bodies
//	server/validate          Operation
//	server/internal/api/rest       API, creation, MapError
//	server/internal/studio   Service.create, Service.admit, Creation, IdempotencyKey, Subject, Event
//	server/internal/store    Store.CreateSubject, creation, keyed, writeGrouped, commitQueue, transaction
//	server/internal/store    Store.createSubjects, lockKeys, Store.writeCreations, writeEvents, marks, signals
//
// The daemon puts the layers of New around the use cases: a token is checked, the user's rate and bodies are bounded,
// the request is validated, and the API makes a Creation of it. The service judges it and lets the Subject enter its
// first state, which adds an Event. The store writes the rows of many creations in one transaction. After the commit it
// signals what it has marked: the user's events are due, and a rendering is.
//
// # An event, from the row to the receiver: 24 names
//
//	server/internal/store    Flow, Store.TakeFlows, Store.Deliveries, Delivery
//	server/internal/deliver/lanes  Lanes, Holding
//	server/internal/deliver  Deliverer.watch, queue, flow, Deliverer.startDue, Deliverer.startFlow, Deliverer.fetch
//	server/internal/deliver  origins, Deliverer.deliver, decide, Deliverer.attemptDone, Deliverer.workDone
//	server/sender            Sender.Send, Message, Attempt
//	server/internal/store    Store.SaveAttempt, MadeAttempt, Outcome
//	server/internal/studio   Event
//
// A signal says of which flow, a user and an origin, events are due. If this process holds the lane of the origin, the
// flow waits in the queue for a free worker and for the limits of its origin. It is read, and the worker sends one
// event. What was sent is decided and recorded in one transaction, which makes the next event of the subject due.
//
// # A rendering, from the row to the result: 19 names
//
//	server/internal/store    Store.NextRendering, Store.ClaimRenderings, Store.RenewRenderings
//	server/internal/render   Pool.start, Pool.claim, Pool.render, Pool.renderOnce, leases
//	server/internal/render   Exec, Inputs, program, sandbox
//	server/internal/render/protocol  Request, Result
//	server/internal/studio   Renderer, Rendering, RenderError, Service.Rendered
//	server/internal/store    Store.UpdateSubject
//
// The pool claims what is due for its free workers and keeps its leases. The renderer fetches the inputs and runs a
// program in a sandbox, which reads a Request and writes a Result. The service lets the subject enter the state that
// follows, and the store writes the state and its event, as for a creation.
package internal

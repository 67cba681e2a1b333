// Studiod serves the Avatar and Video Project Service of api/openapi.yaml, and manages its database. Its manual is in
// server/internal/web/guide.
//
// A command is in the file with its name: "studiod serve" in serve.go, and "studiod work" in work.go. [rootCommand]
// lists the commands. The package assembles the service and has no rules of it:
//
//   - serve.go and work.go read the flags, and daemon.go makes a daemon of them: the rules of package studio over a
//     store, the API of package rest, the console, and the work that delivery.go, renderer.go and media.go configure.
//     run.go stops a daemon in order.
//   - studio.go, users.go, accounts.go and their like open the database for a command, and call the same rules.
//   - listen.go, domain.go and admin.go are the ports of a daemon, and docs.go is what it serves besides the API.
//   - keys.go finds the key file, and signing.go the keys of access tokens. private.go and secrets.go keep secrets from
//     other users and processes.
//   - log.go, traces.go and health.go report to operators.
//   - demo.go fills the database of "studiod serve --demo".
package main

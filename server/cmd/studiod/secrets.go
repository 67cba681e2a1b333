package main

import "os"

// secretVariables are the environment variables whose values are or may contain secrets. They are read while a daemon
// opens.
//
//nolint:gochecknoglobals // a list
var secretVariables = []string{
	keysVariable, smtpPasswordVariable, "STUDIO_DB", "PGPASSWORD", "PGSSLPASSWORD",
	"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_CONTAINER_AUTHORIZATION_TOKEN",
	"OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_TRACES_HEADERS",
}

// forgetSecrets removes secrets from the environment, which other programs inherit. The kernel keeps a copy of the
// initial environment, which hideProcess protects.
func forgetSecrets() {
	for _, name := range secretVariables {
		_ = os.Unsetenv(name) // fails only for invalid names
	}
}

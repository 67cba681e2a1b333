package main

import (
	"io"
	"log"
	"log/slog"
	"os"

	"github.com/urfave/cli/v3"
	"golang.org/x/term"
)

// Values of --log-format.
const (
	logAuto = "auto"
	logText = "text"
	logJSON = "json"
)

func logFormatFlag() cli.Flag {
	return setting(&cli.StringFlag{
		Name: "log-format", Usage: "format of log lines: text, json, or auto, which is text on a terminal and json otherwise",
		Value: logAuto, Validator: oneOf(logAuto, logText, logJSON),
	})
}

func newLogger(w io.Writer, format string) *slog.Logger {
	file, isFile := w.(*os.File)
	if format == logText || format == logAuto && isFile && term.IsTerminal(int(file.Fd())) {
		return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{ReplaceAttr: withoutZeroTime}))
	}
	return slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{ReplaceAttr: inSeconds}))
}

// useLogger makes a logger the default. The standard logger discards its lines: net/http writes there what a receiver
// sends after its response, which can be the query of a webhook URL.
func useLogger(logger *slog.Logger) {
	slog.SetDefault(logger)
	log.SetOutput(io.Discard)
}

// withoutZeroTime drops a time that means that there is none, such as the expiry of a certificate before the first.
func withoutZeroTime(_ []string, attr slog.Attr) slog.Attr {
	if attr.Value.Kind() == slog.KindTime && attr.Value.Time().IsZero() {
		return slog.Attr{}
	}
	return attr
}

// inSeconds is withoutZeroTime that adds the unit to the name of a duration, which JSON has no notation for.
func inSeconds(groups []string, attr slog.Attr) slog.Attr {
	if attr.Value.Kind() == slog.KindDuration {
		return slog.Float64(attr.Key+"_seconds", attr.Value.Duration().Seconds())
	}
	return withoutZeroTime(groups, attr)
}

package main

import (
	"context"
	"errors"
	"os"

	"github.com/urfave/cli/v3"

	"github.com/avatarstudio/avatarstudio/server"
	"github.com/avatarstudio/avatarstudio/server/internal/tracing"
	"github.com/avatarstudio/avatarstudio/server/internal/tracing/otlp"
)

func traceFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{
			Name: "otlp", Usage: "send traces to the OpenTelemetry collector at this address, such as http://127.0.0.1:4318",
			DefaultText: "none", Sources: cli.EnvVars("STUDIO_OTLP", "OTEL_EXPORTER_OTLP_ENDPOINT"),
		},
		&cli.FloatFlag{
			Name: "otlp-sample", Usage: "share of traces to send, above 0 and up to 1", Value: 1,
			Sources: cli.EnvVars("STUDIO_OTLP_SAMPLE"),
			Validator: func(share float64) error {
				if !(share > 0 && share <= 1) { // also rejects NaN
					return errors.New("must be above 0 and up to 1")
				}
				return nil
			},
		},
	}
}

func traceConfigOf(command *cli.Command) otlp.Config {
	if os.Getenv("OTEL_SDK_DISABLED") == "true" {
		return otlp.Config{}
	}
	return otlp.Config{URL: command.String("otlp"), Sample: command.Float("otlp-sample")}
}

// openMonitoring starts the trace exporter and the server for operators, if they are configured.
func (d *daemon) openMonitoring(ctx context.Context) (err error) {
	if cfg := d.cfg.Traces; cfg.URL != "" {
		cfg.Version, cfg.Logger = version(), d.cfg.Logger
		if d.traces, err = otlp.New(ctx, cfg); errors.Is(err, otlp.ErrURL) {
			return usagef("--otlp: %w", err)
		} else if err != nil {
			return err
		}
	}
	return d.openAdmin(ctx)
}

// recordResponse records the outcome of a request in metrics and traces.
func (d *daemon) recordResponse(ctx context.Context, response server.Response) {
	if d.admin != nil {
		d.admin.metrics.RecordResponse(response)
	}
	if d.traces != nil {
		tracing.RecordResponse(ctx, response.OperationID, response.Status, server.RequestID(ctx))
	}
}

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/avatarstudio/avatarstudio/api/runtime/commandline"
	"github.com/avatarstudio/avatarstudio/server/internal/render"
	"github.com/avatarstudio/avatarstudio/server/internal/render/simulate"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// Values of --renderer. The program, or the time of a simulated rendering, follows after a colon.
const (
	rendererAuto     = "auto"
	rendererSimulate = "simulate"
	rendererExec     = "exec"
)

// builtinRenderer is the name of the renderer that is built together with studiod.
const builtinRenderer = "studio-render"

const (
	// noWorkers means that other processes render.
	noWorkers        = -1
	maxRenderWorkers = 1024
	// simulations is the number of concurrent simulated renderings, which only wait.
	simulations = 256
	// simulatedTime is long enough to see a creation in progress.
	simulatedTime    = 2 * time.Second
	maxSimulatedTime = 10 * time.Minute
)

// renderConfig configures how a daemon renders. Its zero value simulates renderings.
type renderConfig struct {
	Program []string // empty means simulation
	Paths   []string // see render.ExecConfig
	Missing string   // why no renderer was found; "" if simulation was requested
	Time    time.Duration
	Timeout time.Duration
	Workers int // see render.Config
}

func renderFlags() []cli.Flag {
	return []cli.Flag{
		setting(&cli.StringFlag{
			Name: "renderer", Usage: "renderer: auto, exec:PROGRAM [ARGS], or simulate[:TIME], which waits for " + bound(simulatedTime) + " or a TIME of up to " + bound(maxSimulatedTime) + "; auto is studio-render in the directory of studiod if ffmpeg is installed, and otherwise simulate",
			Value: rendererAuto,
			Validator: func(text string) error {
				_, err := rendererOf(text)
				return err
			},
		}),
		ranged(setting(&cli.IntFlag{
			Name: "render-workers", Usage: "maximum number of concurrent renderings; 0 is for serve only, if studiod work renders",
			DefaultText: "half of the CPUs, or 256 for simulate",
		}), 0, maxRenderWorkers),
		setting(&cli.StringSliceFlag{
			Name: "render-paths", Usage: "file, directory or device that the renderer may use in its sandbox, in addition to /usr, PATH and the paths in --renderer; can be repeated",
			DefaultText: "none",
			Validator: func(paths []string) error {
				for _, path := range paths {
					if _, err := os.Stat(path); err != nil || !filepath.IsAbs(path) {
						return errors.New("must be the absolute path of a file, directory or device that exists")
					}
				}
				return nil
			},
		}),
		ranged(setting(&cli.DurationFlag{
			Name: "render-timeout", Usage: "maximum time of a rendering; after that, it is retried", Value: render.DefaultTimeout,
		}), time.Second, 24*time.Hour),
	}
}

// rendererOf reads a value of --renderer.
func rendererOf(text string) (cfg renderConfig, err error) {
	kind, value, hasValue := strings.Cut(text, ":")
	cfg.Time = simulatedTime
	switch {
	case text == rendererAuto:
		cfg.Program, cfg.Missing = findRenderer()
		return cfg, nil
	case text == rendererSimulate:
		return cfg, nil
	case kind == rendererSimulate && hasValue:
		cfg.Time, err = time.ParseDuration(value)
		return cfg, errors.Join(err, between(0, maxSimulatedTime)(cfg.Time))
	case kind == rendererExec:
		cfg.Program = strings.Fields(value)
	}
	if len(cfg.Program) == 0 {
		return cfg, errors.New("must be auto, simulate or exec:PROGRAM")
	}
	return cfg, nil
}

func renderConfigOf(command *cli.Command) renderConfig {
	cfg, _ := rendererOf(command.String("renderer")) // the Validator of the flag has accepted it
	cfg.Timeout, cfg.Workers, cfg.Paths = command.Duration("render-timeout"), command.Int("render-workers"), command.StringSlice("render-paths")
	switch {
	case cfg.Workers == 0 && command.IsSet("render-workers"):
		cfg.Workers, cfg.Missing = noWorkers, "" // studiod work renders
	case cfg.Workers == 0 && len(cfg.Program) > 0:
		cfg.Workers = max(1, runtime.NumCPU()/2)
	case cfg.Workers == 0:
		cfg.Workers = simulations
	}
	return cfg
}

// findRenderer returns the path of studio-render beside this program, or a message about what is missing
// and how to install it.
func findRenderer() (program []string, missing string) {
	self, err := os.Executable()
	if err != nil {
		return nil, "the place of studiod is not known"
	}
	path, err := exec.LookPath(filepath.Join(filepath.Dir(self), builtinRenderer))
	if err != nil {
		return nil, builtinRenderer + " is not beside studiod; make build puts it there"
	}
	for _, needed := range []string{"ffmpeg", "ffprobe"} {
		if _, err := exec.LookPath(needed); err != nil {
			return nil, needed + " is not installed; the package ffmpeg has it (apt-get install ffmpeg, brew install ffmpeg)"
		}
	}
	return []string{path}, ""
}

// openRenderer creates the renderer. All other parts of the daemon must be open.
func (d *daemon) openRenderer(ctx context.Context) (studio.Renderer, error) {
	cfg := d.cfg.Render
	working := cfg.Workers != noWorkers
	if !working {
		d.cfg.Logger.InfoContext(ctx, "studiod work renders; this daemon does not")
	}
	if len(cfg.Program) == 0 {
		if !working {
			return nil, nil
		}
		d.studio.Voices = simulate.Voices
		if cfg.Missing != "" {
			d.cfg.Logger.WarnContext(ctx, "rendering is simulated", "missing", cfg.Missing)
		}
		return simulate.Renderer{Time: cfg.Time}, nil
	}
	inputs := render.Inputs{Sender: d.sender, Studio: d.studio, Key: d.media.Key}
	program, err := render.NewExec(ctx, render.ExecConfig{
		Program: cfg.Program, Paths: cfg.Paths, Studio: d.studio, Fetch: inputs.Fetch, Logger: d.cfg.Logger,
	})
	switch {
	case err != nil && !working:
		d.cfg.Logger.InfoContext(ctx, "the voices of the renderer are not known here", "cause", err)
		return nil, nil
	case err != nil:
		return nil, commandline.Usage(fmt.Errorf("--renderer: %w", err))
	}
	d.onClose(program.Close)
	d.studio.Voices = program.Voices // a daemon without workers lists voices, too
	if !working {
		return nil, nil
	}
	d.cfg.Logger.InfoContext(ctx, "rendering", "program", cfg.Program[0], "workers", cfg.Workers)
	return program, nil
}

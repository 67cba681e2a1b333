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

	"github.com/avatarstudio/avatarstudio/server/internal/render"
	"github.com/avatarstudio/avatarstudio/server/internal/render/simulate"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// Values of --renderer.
const (
	rendererAuto     = "auto"
	rendererSimulate = "simulate"
	rendererExec     = "exec:" // followed by a program
)

// builtinRenderer is the name of the renderer that is built together with studiod.
const builtinRenderer = "studio-render"

const (
	// noWorkers means that other processes render.
	noWorkers = -1
	// simulations is the number of concurrent simulated renderings, which only wait.
	simulations = 64
)

// renderConfig configures how a daemon renders. Its zero value simulates renderings.
type renderConfig struct {
	Program []string // empty means simulation
	Paths   []string // see render.ExecConfig
	Missing string   // why no renderer was found; "" if simulation was requested
	Time    time.Duration
	Timeout time.Duration
	Workers int // see jobs.Config
	Limits  render.Limits
}

func renderFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{
			Name: "renderer", Usage: "renderer: auto, simulate or exec:PROGRAM [ARGS]; auto is studio-render in the directory of studiod if ffmpeg is installed, and otherwise simulate",
			Value: rendererAuto, Sources: cli.EnvVars("STUDIO_RENDERER"),
			Validator: func(text string) error {
				program, isProgram := strings.CutPrefix(text, rendererExec)
				if text != rendererAuto && text != rendererSimulate && (!isProgram || len(strings.Fields(program)) == 0) {
					return errors.New("must be auto, simulate or exec:PROGRAM")
				}
				return nil
			},
		},
		numberFlag("render-workers", "maximum number of concurrent renderings; 0 is for serve only, if studiod work renders", "STUDIO_RENDER_WORKERS", "half of the CPUs, or 64 for simulate", 0, 1024),
		limitFlag("render-memory", "maximum memory of each process of the renderer, in MiB", "STUDIO_RENDER_MEMORY", "4096", 1<<20),
		&cli.StringSliceFlag{
			Name: "render-paths", Usage: "file, directory or device that the renderer may use in its sandbox, in addition to /usr, PATH and the paths in --renderer; can be repeated",
			Sources: cli.EnvVars("STUDIO_RENDER_PATHS"), DefaultText: "none",
			Validator: func(paths []string) error {
				for _, path := range paths {
					if _, err := os.Stat(path); err != nil || !filepath.IsAbs(path) {
						return errors.New("must be the absolute path of a file, directory or device that exists")
					}
				}
				return nil
			},
		},
		durationFlag("render-timeout", "maximum time of a rendering; after that, it is retried", "STUDIO_RENDER_TIMEOUT", 15*time.Minute, time.Second, 24*time.Hour),
		durationFlag("render-time", "time of a simulated rendering", "STUDIO_RENDER_TIME", 2*time.Second, 0, 10*time.Minute),
	}
}

func durationFlag(name, usage, variable string, value, minimum, maximum time.Duration) cli.Flag {
	return &cli.DurationFlag{
		Name: name, Usage: withRange(usage, minimum, maximum), Value: value, Sources: cli.EnvVars(variable),
		Validator: func(d time.Duration) error {
			if d < minimum || d > maximum {
				return fmt.Errorf("must be between %v and %v", minimum, maximum)
			}
			return nil
		},
	}
}

func renderConfigOf(command *cli.Command) renderConfig {
	cfg := renderConfig{
		Time: command.Duration("render-time"), Timeout: command.Duration("render-timeout"),
		Workers: command.Int("render-workers"), Paths: command.StringSlice("render-paths"), Limits: render.Limits{Memory: int64(command.Int("render-memory")) << 20},
	}
	switch text := command.String("renderer"); text {
	case rendererSimulate:
	case rendererAuto:
		cfg.Program, cfg.Missing = findRenderer()
	default:
		cfg.Program = strings.Fields(strings.TrimPrefix(text, rendererExec))
	}
	switch {
	case cfg.Workers == 0 && command.IsSet("render-workers"):
		cfg.Workers = noWorkers
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
	if cfg.Workers == noWorkers {
		d.cfg.Logger.InfoContext(ctx, "studiod work renders; this daemon does not")
		return nil, nil
	}
	if len(cfg.Program) == 0 {
		if cfg.Missing != "" {
			d.cfg.Logger.WarnContext(ctx, "rendering is simulated", "missing", cfg.Missing)
		}
		return simulate.Renderer{Time: cfg.Time}, nil
	}
	inputs := render.Inputs{Sender: d.sender, Studio: d.studio, Key: d.media.Key}
	program, err := render.NewExec(ctx, render.ExecConfig{
		Program: cfg.Program, Paths: cfg.Paths, Limits: cfg.Limits, Studio: d.studio, Fetch: inputs.Fetch, Logger: d.cfg.Logger,
	})
	if err != nil {
		return nil, usageError{fmt.Errorf("--renderer: %w", err)}
	}
	d.renderer = program
	d.cfg.Logger.InfoContext(ctx, "rendering", "program", cfg.Program[0], "workers", cfg.Workers)
	return program, nil
}

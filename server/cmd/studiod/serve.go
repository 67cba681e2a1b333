package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/avatarstudio/avatarstudio/api/runtime/commandline"
	"github.com/avatarstudio/avatarstudio/server/internal/api/ratelimit"
	"github.com/avatarstudio/avatarstudio/server/internal/deliver"
	"github.com/avatarstudio/avatarstudio/server/internal/operate/httpserver"
	"github.com/avatarstudio/avatarstudio/server/internal/operate/systemd"
)

const (
	defaultDatabase = "studio.db"
	demoDatabase    = "demo.db"
	consentAuto     = "auto"
	consentManual   = "manual"
)

func loopback() []netip.Prefix {
	return []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}
}

// groupFlags shows the flags of "serve" and "work" in groups.
func groupFlags(command *cli.Command) *cli.Command {
	return commandline.Group(
		command,
		[]string{"Storage", "db", "key-file", "media", "backup"},
		[]string{"Addresses", "addr", "public-url", "domain", "http-addr", "tls-cert", "tls-key", "trusted-proxies", "max-connections"},
		[]string{"Users", "console", "demo", "smtp", "user-rate", "user-media", "user-video-seconds", "consent"},
		[]string{"Webhooks", "webhook-allow", "delivery-workers", "receiver-rate"},
		[]string{"Rendering", "renderer", "render-workers", "render-paths", "render-timeout"},
		[]string{"Operation", "admin-addr", "log-format"},
	)
}

func serveCommand() *cli.Command {
	return groupFlags(leaf("serve", "serve the API and deliver webhooks", "", slices.Concat([]cli.Flag{
		setting(&cli.StringFlag{Name: "addr", Usage: "address to listen on", Value: "127.0.0.1:8080", Validator: checkAddr}),
		setting(&cli.BoolFlag{Name: "console", Usage: "serve the console at /console", Value: true}),
		setting(&cli.BoolFlag{Name: "demo", Usage: "serve demo.db with a user, a workspace and projects, and allow webhooks to this machine"}),
		limitFlag("delivery-workers", "maximum number of concurrent delivery attempts of this daemon", deliver.DefaultWorkers, 1024),
		limitFlag("receiver-rate", "maximum delivery attempts to one receiver (scheme, host and port) per second, and 4 concurrent ones for each 50", deliver.DefaultRate, 100_000),
		limitFlag("user-rate", "maximum changes of a user per second, and as many creations of avatars, videos and lip-syncs, twice as many reads, and a tenth as many uploads", ratelimit.DefaultRate, 1_000_000),
		limitFlag("user-media", "maximum total size of the files that a user uploads within seven days, in MiB", 100_000, 1_000_000_000),
		ranged(setting(&cli.IntFlag{
			Name: "user-video-seconds", Usage: "maximum total length of the videos that a user can make, in seconds; 0 is no limit",
		}), 0, 1_000_000_000),
		setting(&cli.StringFlag{
			Name: "public-url", Usage: "URL of this service for clients; links, and URLs of files that are not in a bucket, begin with it", DefaultText: "http:// and --addr",
		}),
		setting(&cli.StringFlag{Name: "domain", DefaultText: "plain HTTP", Usage: "serve https for this domain with a certificate from Let's Encrypt, whose terms of service you agree to; --addr is then :443 by default"}),
		setting(&cli.StringFlag{
			Name: "http-addr", Usage: "address that redirects to https and proves the control of --domain; the certificate authority uses port 80",
			Value: ":80", Validator: checkAddr,
		}),
		smtpFlag(),
		backupFlag(),
		mediaFlag("a directory next to the database"),
	}, listenerFlags(), rendererFlags()), serve))
}

// rendererFlags returns the flags that "serve" and "work" have in common.
func rendererFlags() []cli.Flag {
	return append([]cli.Flag{
		setting(&cli.StringFlag{
			Name: "consent", Usage: "auto: give consent unless the title contains [no-consent]; manual: wait for submit_consent",
			Value: consentAuto, Validator: oneOf(consentAuto, consentManual),
		}),
		setting(&cli.StringSliceFlag{
			Name: "webhook-allow", Usage: "also send webhooks to this private network and fetch inputs from it; http allows plain http; can be repeated",
			DefaultText: "public addresses and https only",
		}),
		adminFlag(),
		logFormatFlag(),
	}, renderFlags()...)
}

// rendererConfigOf reads the flags that rendererFlags defines.
func rendererConfigOf(command *cli.Command) (cfg daemonConfig, err error) {
	cfg = daemonConfig{
		Keys:        keySourceOf(command),
		Passwords:   passwordsOf(command),
		Render:      renderConfigOf(command),
		Media:       command.String("media"),
		AutoConsent: command.String("consent") == consentAuto,
		StopTimeout: stopTimeout,
		Collector:   collectorURL(),
		Admin:       adminConfigOf(command),
		Logger:      newLogger(command.Root().ErrWriter, command.String("log-format")),
	}
	allowed := slices.Clone(command.StringSlice("webhook-allow"))
	cfg.AllowHTTP = slices.Contains(allowed, "http")
	allowed = slices.DeleteFunc(allowed, func(text string) bool { return text == "http" })
	if cfg.AllowNetworks, err = networksOf(allowed); err != nil {
		return cfg, usagef("--webhook-allow must be http or %w", err)
	}
	return cfg, nil
}

func networksOf(texts []string) (networks []netip.Prefix, err error) {
	for _, text := range texts {
		network, err := netip.ParsePrefix(text)
		if err != nil {
			return nil, errors.New("a network such as 10.0.0.0/8")
		}
		networks = append(networks, network.Masked())
	}
	return networks, nil
}

func listenerFlags() []cli.Flag {
	return []cli.Flag{
		setting(&cli.StringFlag{
			Name: "tls-cert", Usage: "PEM file of the certificate and its intermediate certificates; read again when it changes", DefaultText: "plain HTTP",
		}),
		setting(&cli.StringFlag{Name: "tls-key", Usage: "PEM file of the private key of the certificate"}),
		setting(&cli.StringSliceFlag{
			Name: "trusted-proxies", Usage: "trust X-Forwarded-For from proxies in this network, and do not limit their connections by address; can be repeated",
			DefaultText: "none",
		}),
		limitFlag("max-connections", "maximum number of open connections, at most half of them from one IPv4 address or IPv6 /64 network; another one closes the connection that has been idle longest", httpserver.DefaultMaxConnections, 1_000_000),
	}
}

// setting lets an environment variable set a flag: STUDIO_TLS_CERT for --tls-cert.
func setting[T, C any, V cli.ValueCreator[T, C]](flag *cli.FlagBase[T, C, V]) *cli.FlagBase[T, C, V] {
	flag.Sources = cli.EnvVars("STUDIO_" + strings.ToUpper(strings.ReplaceAll(flag.Name, "-", "_")))
	return flag
}

// limitFlag returns a setting for a number from 1 to maximum.
func limitFlag(name, usage string, value, maximum int) *cli.IntFlag {
	return ranged(setting(&cli.IntFlag{Name: name, Usage: usage, Value: value}), 1, maximum)
}

// oneOf returns the Validator of a flag with some values.
func oneOf[T ~string](values ...T) func(string) error {
	return func(text string) error {
		if !slices.Contains(values, T(text)) {
			return fmt.Errorf("must be one of %s", strings.ReplaceAll(strings.Trim(fmt.Sprint(values), "[]"), " ", ", "))
		}
		return nil
	}
}

// ranged gives a flag a range, which its usage tells.
func ranged[T cmp.Ordered, C any, V cli.ValueCreator[T, C]](flag *cli.FlagBase[T, C, V], minimum, maximum T) *cli.FlagBase[T, C, V] {
	flag.Usage += " (" + bound(minimum) + " to " + bound(maximum) + ")"
	flag.Validator = between(minimum, maximum)
	return flag
}

// between returns the Validator of a flag with a range.
func between[T cmp.Ordered](minimum, maximum T) func(T) error {
	return func(value T) error {
		if value < minimum || value > maximum {
			return fmt.Errorf("must be between %s and %s", bound(minimum), bound(maximum))
		}
		return nil
	}
}

// bound returns the text of a bound of a range: 24h for 24h0m0s.
func bound(value any) string {
	return strings.NewReplacer("h0m0s", "h", "m0s", "m").Replace(fmt.Sprint(value))
}

func serve(ctx context.Context, command *cli.Command) error {
	cfg, err := rendererConfigOf(command)
	if err != nil {
		return err
	}
	cfg.Addr, cfg.Sockets = command.String("addr"), systemd.Inherit()
	if !command.IsSet("addr") {
		cfg.Addr = cmp.Or(cfg.Sockets.Addr(), cfg.Addr)
	}
	if cfg.PublicURL, err = publicURL(command.String("public-url")); err != nil {
		return usagef("--public-url %w", err)
	}
	cfg.Console = command.Bool("console")
	cfg.Demo = command.Bool("demo")
	cfg.Workers = command.Int("delivery-workers")
	cfg.Rate = command.Int("receiver-rate")
	cfg.Listener.MaxConnections = command.Int("max-connections")
	if cfg.TrustedProxies, err = networksOf(command.StringSlice("trusted-proxies")); err != nil {
		return usagef("--trusted-proxies must be %w", err)
	}
	cfg.TLSCert, cfg.TLSKey = command.String("tls-cert"), command.String("tls-key")
	if (cfg.TLSCert == "") != (cfg.TLSKey == "") {
		return usagef("--tls-cert and --tls-key must be set together")
	}
	if err := domainOf(command, &cfg); err != nil {
		return err
	}
	if err := mailOf(command, &cfg); err != nil {
		return err
	}
	cfg.Backup = command.String("backup")
	cfg.UserRate = command.Int("user-rate")
	cfg.MaxMediaBytes = int64(command.Int("user-media")) << 20
	cfg.MaxVideoSeconds = int64(command.Int("user-video-seconds"))
	database := defaultDatabase
	show := showSetupLink
	if cfg.Demo {
		database, show = demoDatabase, showDemo
		cfg.AllowHTTP = true
		cfg.AllowNetworks = append(cfg.AllowNetworks, loopback()...)
	}
	if cfg.Database, err = databaseOf(command, database); err != nil {
		return err
	}
	if cfg.Render.Workers == noWorkers && isSQLite(cfg.Database) {
		return usagef("--render-workers 0 needs studiod work to render, and studiod work needs PostgreSQL")
	}
	ctx = untilStopped(ctx)
	useLogger(cfg.Logger)
	tuneCollector(cfg.Listener.MaxConnections)
	if err := hideProcess(); err != nil {
		return err
	}
	d, err := openDaemon(ctx, cfg)
	if err != nil {
		return err
	}
	forgetSecrets()
	if err := show(ctx, command.Root().Writer, d); err != nil {
		return errors.Join(err, d.close())
	}
	return d.run(ctx)
}

// checkAddr is the Validator of an address to listen on.
func checkAddr(addr string) error {
	_, port, err := net.SplitHostPort(addr)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if err != nil {
		return errors.New("must be HOST:PORT, such as 127.0.0.1:8080")
	}
	return nil
}

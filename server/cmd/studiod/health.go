package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/avatarstudio/avatarstudio/api/runtime/commandline"
)

// healthTimeout exceeds readyTimeout, so that the daemon can say what it waits for.
const healthTimeout = readyTimeout + 2*time.Second

func healthCommand() *cli.Command {
	command := leaf("health", "ask the daemon on this machine whether it is ready, for health checks of containers", "", nil, checkHealth)
	command.Flags = []cli.Flag{adminFlag()}
	return described(command, `The command requests /readyz at --admin-addr. Its exit code is 0 if the daemon is ready, and 1 otherwise.

Example: studiod health`)
}

func checkHealth(ctx context.Context, command *cli.Command) error {
	cfg := adminConfigOf(command)
	host, port, err := net.SplitHostPort(cfg.Addr)
	if err != nil {
		return usagef("the daemon does not report its state, because --admin-addr is off")
	}
	if address, err := netip.ParseAddr(host); host == "" || err == nil && address.IsUnspecified() {
		host = "127.0.0.1"
	}
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+net.JoinHostPort(host, port)+"/readyz", nil)
	if err != nil {
		return err
	}
	response, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(request) // no proxy
	if err != nil {
		return fmt.Errorf("no daemon responds at --admin-addr: %w", err)
	}
	context.AfterFunc(ctx, func() { _ = response.Body.Close() }) // that of a 101 does not end with ctx by itself
	var state readiness
	if err := json.NewDecoder(response.Body).Decode(&state); err != nil {
		return fmt.Errorf("--admin-addr is not that of a daemon: %w", err)
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("the daemon is not ready: %s", commandline.Printable(state.Status))
	}
	return printLines(command, commandline.Printable(state.Status))
}

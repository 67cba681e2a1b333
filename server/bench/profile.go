package main

import (
	"errors"
	"net/http"
	"os"
	"runtime/pprof"
	"time"
)

// profileServer repeatedly serves a request with server.New, and writes a CPU profile and an allocation profile.
func profileServer(file, body string, duration time.Duration) error {
	handler, err := buildServer()
	if err != nil {
		return err
	}
	c, err := newCall(http.MethodPost, createLipsync, goodHeader, body)
	if err != nil {
		return err
	}
	out, err := os.Create(file + ".cpu")
	if err != nil {
		return err
	}
	if err := pprof.StartCPUProfile(out); err != nil {
		return errors.Join(err, out.Close())
	}
	calibrate(c, handler, duration)
	pprof.StopCPUProfile()
	if err := out.Close(); err != nil {
		return err
	}
	if out, err = os.Create(file + ".allocs"); err != nil {
		return err
	}
	return errors.Join(pprof.Lookup("allocs").WriteTo(out, 0), out.Close())
}

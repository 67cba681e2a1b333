//go:build !linux

package studiotest

import "errors"

func mountDisk(string) error { return errors.ErrUnsupported }

func unmountDisk(string) error { return nil }

func freeSpace(string) (uint64, error) { return 0, errors.ErrUnsupported }

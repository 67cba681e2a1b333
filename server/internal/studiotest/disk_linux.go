package studiotest

import "syscall"

func mountDisk(dir string) error { return syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=4m") }

func unmountDisk(dir string) error { return syscall.Unmount(dir, syscall.MNT_DETACH) }

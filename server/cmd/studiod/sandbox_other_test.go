//go:build !linux

package main

const asAttacker = "attacker"

func attack() {}

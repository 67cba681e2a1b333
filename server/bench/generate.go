package main

//go:generate go run ./derive -o ogenapi/openapi.json
//go:generate go tool ogen --config ogenapi/ogen.yml --target ogenapi --package ogenapi --clean ogenapi/openapi.json

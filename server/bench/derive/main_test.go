package main

import (
	"bytes"
	"os"
	"testing"

	"github.com/avatarstudio/avatarstudio/api"
)

// What ogen's server is generated from must be the contract of today.
func TestDerive_fresh(t *testing.T) {
	t.Parallel()
	want, err := derive(api.Spec)
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("../ogenapi/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("ogenapi/openapi.json is stale: run go generate in server/bench")
	}
}

package main

// handlerEdits are edits of the service that break what the document says.
func handlerEdits() []edit { return nil }

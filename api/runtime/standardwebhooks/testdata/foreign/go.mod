module github.com/avatarstudio/avatarstudio/api/runtime/standardwebhooks/testdata/foreign

go 1.26.0

replace github.com/avatarstudio/avatarstudio => ../../../../..

require (
	github.com/avatarstudio/avatarstudio v0.0.0
	github.com/standard-webhooks/standard-webhooks/libraries v0.0.1
	github.com/svix/svix-webhooks v1.44.0
)

require gopkg.in/validator.v2 v2.0.1 // indirect

module github.com/avatarstudio/avatarstudio/api/standardwebhooks/testdata/foreign

go 1.26.0

replace github.com/avatarstudio/avatarstudio => ../../../..

require (
	github.com/avatarstudio/avatarstudio v0.0.0
	github.com/standard-webhooks/standard-webhooks/libraries v0.0.1
	github.com/svix/svix-webhooks v1.44.0
)

require (
	github.com/apapsch/go-jsonmerge/v2 v2.0.0 // indirect
	github.com/google/uuid v1.6.0 // indirect
	github.com/oapi-codegen/runtime v1.8.0 // indirect
	gopkg.in/validator.v2 v2.0.1 // indirect
)

// Package api embeds the contract of the Avatar and Video Project Service.
//
// # A document in several files
//
// The document may have several files in this directory, such as one for each tag. In openapi.yaml, refer to a path item or
// webhook in another file:
//
//	paths:
//	  /users/login: { $ref: 'users.yaml#/paths/~1users~1login' }
//
// The file users.yaml refers to its own components with #, and to the others with the name of their file:
//
//	paths:
//	  /users/login:
//	    post:
//	      requestBody: { content: { application/json: { schema: { $ref: '#/components/schemas/LoginRequest' } } } }
//	      responses: { '400': { $ref: 'openapi.yaml#/components/responses/BadRequest' } }
//	components:
//	  schemas:
//	    LoginRequest: { type: object }
//
// "make generate" combines the files to bundle.gen.yaml. The code, the service and "make breaking" use only this file, and
// nobody edits it. A component has the last name of the references to it. If two would have the same name, generation
// fails; refer to one of them in the components of openapi.yaml, with another name. A reference must not lead out of this
// directory.
package api

import "embed"

// Spec is the OpenAPI 3.1 document openapi.yaml, from which the code of this module is generated, together with what it
// refers to in other files. Programs must not modify it.
//
//go:embed bundle.gen.yaml
var Spec []byte

// Samples contains a program for each operation of Spec in four languages. The operation login, for
// example, has _samples/login.sh for curl, and login.go, login.ts and login.py. The programs read the
// address of the service, the access token and the workspace from the environment variables
// STUDIO_BASE_URL, STUDIO_TOKEN and STUDIO_WORKSPACE.
//
//go:embed _samples
var Samples embed.FS

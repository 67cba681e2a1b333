package document

import (
	"maps"
	"slices"
	"strings"
)

// object is an object of OpenAPI: its members with their types, and the names of those that are required.
type object struct {
	members  map[string]string
	required []string
}

// objects returns all objects by name. A type is string, boolean, count, any, or the name of another object; [T] is an
// array and {T} a map of T. &T may be a Reference Object instead of a T. A leading star marks required members, a
// leading minus those that OpenAPI 3.1 requires and 3.2 does not, a leading plus those that 3.1 does not have, and an
// exclamation mark those of 3.2 that are not supported. Other members that begin with "x-" may have any value. Maps may
// have any names, except for paths, responses and callbacks.
func objects(is32 bool) map[string]object {
	objects := make(map[string]object)
	for name, members := range map[string]map[string]string{
		"OpenAPI": {
			"openapi": "*string", "$self": "!string", "info": "*Info", "jsonSchemaDialect": "string", "servers": "[Server]", "paths": "Paths",
			"webhooks": "{PathItem}", "components": "Components", "security": "[SecurityRequirement]", "tags": "[Tag]",
			"externalDocs": "ExternalDocumentation",
		},
		"Info": {
			"title": "*string", "summary": "string", "description": "string", "termsOfService": "string",
			"contact": "Contact", "license": "License", "version": "*string",
		},
		"Contact":        {"name": "string", "url": "string", "email": "string"},
		"License":        {"name": "*string", "identifier": "string", "url": "string"},
		"Server":         {"url": "*string", "name": "+string", "description": "string", "variables": "{ServerVariable}"},
		"ServerVariable": {"enum": "[string]", "default": "*string", "description": "string"},
		"Components": {
			"schemas": "{Schema}", "responses": "{&Response}", "parameters": "{&Parameter}", "examples": "{&Example}",
			"requestBodies": "{&RequestBody}", "headers": "{&Header}", "securitySchemes": "{&SecurityScheme}",
			"links": "{&Link}", "callbacks": "{&Callback}", "pathItems": "{PathItem}",
			"mediaTypes": "+{&MediaType}",
		},
		"PathItem": {
			"$ref": "string", "summary": "string", "description": "string", "get": "Operation", "put": "Operation",
			"post": "Operation", "delete": "Operation", "options": "Operation", "head": "Operation", "patch": "Operation",
			"trace": "Operation", "query": "+Operation", "additionalOperations": "+{Operation}", "servers": "[Server]", "parameters": "[&Parameter]",
		},
		"Operation": {
			"tags": "[string]", "summary": "string", "description": "string", "externalDocs": "ExternalDocumentation",
			"operationId": "string", "parameters": "[&Parameter]", "requestBody": "&RequestBody", "responses": "Responses",
			"callbacks": "{&Callback}", "deprecated": "boolean", "security": "[SecurityRequirement]", "servers": "[Server]",
		},
		"ExternalDocumentation": {"description": "string", "url": "*string"},
		"Parameter": {
			"name": "*string", "in": "*string", "description": "string", "required": "boolean", "deprecated": "boolean",
			"allowEmptyValue": "boolean", "style": "string", "explode": "boolean", "allowReserved": "boolean",
			"schema": "Schema", "example": "any", "examples": "{&Example}", "content": "{&MediaType}",
		},
		"Header": {
			"description": "string", "required": "boolean", "deprecated": "boolean", "style": "string", "explode": "boolean",
			"schema": "Schema", "example": "any", "examples": "{&Example}", "content": "{&MediaType}",
		},
		"RequestBody": {"description": "string", "content": "*{&MediaType}", "required": "boolean"},
		"MediaType": {
			"$ref": "+string", "description": "+string", "schema": "Schema", "itemSchema": "+Schema", "x-itemSchema": "Schema", "example": "any", "examples": "{&Example}",
			"encoding": "{Encoding}", "prefixEncoding": "![Encoding]", "itemEncoding": "!Encoding",
		},
		"Encoding": {
			"encoding": "!{Encoding}", "prefixEncoding": "![Encoding]", "itemEncoding": "!Encoding",
			"contentType": "string", "headers": "{&Header}", "style": "string", "explode": "boolean", "allowReserved": "boolean",
		},
		"Response": {
			"summary": "+string", "description": "-string", "headers": "{&Header}", "content": "{&MediaType}", "links": "{&Link}",
		},
		"Example": {
			"summary": "string", "description": "string", "value": "any", "dataValue": "+any", "serializedValue": "+string",
			"externalValue": "string",
		},
		"Link": {
			"operationRef": "string", "operationId": "string", "parameters": "{any}", "requestBody": "any",
			"description": "string", "server": "Server",
		},
		"Tag": {
			"name": "*string", "summary": "+string", "description": "string", "externalDocs": "ExternalDocumentation",
			"parent": "+string", "kind": "+string",
		},
		"Reference":     {"$ref": "*string", "summary": "string", "description": "string"},
		"Discriminator": {"propertyName": "*string", "mapping": "{string}", "defaultMapping": "+string"},
		"XML": {
			"nodeType": "+string", "name": "string", "namespace": "string", "prefix": "string", "attribute": "boolean", "wrapped": "boolean",
		},
		"SecurityScheme": {
			"type": "*string", "description": "string", "name": "string", "in": "string", "scheme": "string",
			"bearerFormat": "string", "flows": "OAuthFlows", "openIdConnectUrl": "string", "oauth2MetadataUrl": "+string",
			"deprecated": "+boolean",
		},
		"OAuthFlows": {
			"implicit": "OAuthFlow", "password": "OAuthFlow", "clientCredentials": "OAuthFlow", "authorizationCode": "OAuthFlow",
			"deviceAuthorization": "+OAuthFlow",
		},
		"OAuthFlow": {
			"authorizationUrl": "string", "deviceAuthorizationUrl": "+string", "tokenUrl": "string", "refreshUrl": "string", "scopes": "*{string}",
		},
		"Schema": {
			"$schema": "string", "$id": "string", "$ref": "string", "$anchor": "string", "$dynamicRef": "string",
			"$dynamicAnchor": "string", "$vocabulary": "{boolean}", "$comment": "string", "$defs": "{Schema}", "definitions": "{Schema}",
			"allOf": "[Schema]", "anyOf": "[Schema]", "oneOf": "[Schema]", "not": "Schema",
			"if": "Schema", "then": "Schema", "else": "Schema", "dependentSchemas": "{Schema}",
			"prefixItems": "[Schema]", "items": "Schema", "contains": "Schema",
			"properties": "{Schema}", "patternProperties": "{Schema}", "additionalProperties": "Schema", "propertyNames": "Schema",
			"unevaluatedItems": "Schema", "unevaluatedProperties": "Schema",
			"type": "any", "enum": "[any]", "const": "any",
			"multipleOf": "number", "maximum": "number", "exclusiveMaximum": "number", "minimum": "number", "exclusiveMinimum": "number",
			"maxLength": "count", "minLength": "count", "pattern": "string",
			"maxItems": "count", "minItems": "count", "uniqueItems": "boolean", "maxContains": "count", "minContains": "count",
			"maxProperties": "count", "minProperties": "count", "required": "[string]", "dependentRequired": "{[string]}",
			"format": "string", "contentEncoding": "string", "contentMediaType": "string", "contentSchema": "Schema",
			"title": "string", "description": "string", "default": "any", "deprecated": "boolean",
			"readOnly": "boolean", "writeOnly": "boolean", "examples": "[any]",
			"discriminator": "Discriminator", "xml": "XML", "externalDocs": "ExternalDocumentation", "example": "any",
		},
	} {
		o := object{members: members}
		for _, member := range slices.Sorted(maps.Keys(members)) {
			if strings.HasPrefix(members[member], "*") || !is32 && strings.HasPrefix(members[member], "-") {
				o.required = append(o.required, member)
			}
		}
		objects[name] = o
	}
	return objects
}

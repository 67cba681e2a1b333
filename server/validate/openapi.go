package validate

// openAPIObject returns the members of an object of OpenAPI 3.1 with their types. A type is string, boolean,
// any, or the name of another object; [T] is an array and {T} a map of T. &T may be a Reference Object
// instead of a T. A leading star marks required members. Members that begin with "x-" may have any value.
// Maps may have any names, except for paths, responses and callbacks.
func openAPIObject(name string) map[string]string {
	switch name {
	case "OpenAPI":
		return map[string]string{
			"openapi": "*string", "info": "*Info", "jsonSchemaDialect": "string", "servers": "[Server]", "paths": "Paths",
			"webhooks": "{PathItem}", "components": "Components", "security": "[SecurityRequirement]", "tags": "[Tag]",
			"externalDocs": "ExternalDocumentation",
		}
	case "Info":
		return map[string]string{
			"title": "*string", "summary": "string", "description": "string", "termsOfService": "string",
			"contact": "Contact", "license": "License", "version": "*string",
		}
	case "Contact":
		return map[string]string{"name": "string", "url": "string", "email": "string"}
	case "License":
		return map[string]string{"name": "*string", "identifier": "string", "url": "string"}
	case "Server":
		return map[string]string{"url": "*string", "description": "string", "variables": "{ServerVariable}"}
	case "ServerVariable":
		return map[string]string{"enum": "[string]", "default": "*string", "description": "string"}
	case "Components":
		return map[string]string{
			"schemas": "{Schema}", "responses": "{&Response}", "parameters": "{&Parameter}", "examples": "{&Example}",
			"requestBodies": "{&RequestBody}", "headers": "{&Header}", "securitySchemes": "{&SecurityScheme}",
			"links": "{&Link}", "callbacks": "{&Callback}", "pathItems": "{PathItem}",
		}
	case "PathItem":
		return map[string]string{
			"$ref": "string", "summary": "string", "description": "string", "get": "Operation", "put": "Operation",
			"post": "Operation", "delete": "Operation", "options": "Operation", "head": "Operation", "patch": "Operation",
			"trace": "Operation", "servers": "[Server]", "parameters": "[&Parameter]",
		}
	case "Operation":
		return map[string]string{
			"tags": "[string]", "summary": "string", "description": "string", "externalDocs": "ExternalDocumentation",
			"operationId": "string", "parameters": "[&Parameter]", "requestBody": "&RequestBody", "responses": "Responses",
			"callbacks": "{&Callback}", "deprecated": "boolean", "security": "[SecurityRequirement]", "servers": "[Server]",
		}
	case "ExternalDocumentation":
		return map[string]string{"description": "string", "url": "*string"}
	case "Parameter":
		return map[string]string{
			"name": "*string", "in": "*string", "description": "string", "required": "boolean", "deprecated": "boolean",
			"allowEmptyValue": "boolean", "style": "string", "explode": "boolean", "allowReserved": "boolean",
			"schema": "Schema", "example": "any", "examples": "{&Example}", "content": "{MediaType}",
		}
	case "Header":
		return map[string]string{
			"description": "string", "required": "boolean", "deprecated": "boolean", "style": "string", "explode": "boolean",
			"schema": "Schema", "example": "any", "examples": "{&Example}", "content": "{MediaType}",
		}
	case "RequestBody":
		return map[string]string{"description": "string", "content": "*{MediaType}", "required": "boolean"}
	case "MediaType":
		return map[string]string{"schema": "Schema", "example": "any", "examples": "{&Example}", "encoding": "{Encoding}"}
	case "Encoding":
		return map[string]string{
			"contentType": "string", "headers": "{&Header}", "style": "string", "explode": "boolean", "allowReserved": "boolean",
		}
	case "Response":
		return map[string]string{
			"description": "*string", "headers": "{&Header}", "content": "{MediaType}", "links": "{&Link}",
		}
	case "Example":
		return map[string]string{"summary": "string", "description": "string", "value": "any", "externalValue": "string"}
	case "Link":
		return map[string]string{
			"operationRef": "string", "operationId": "string", "parameters": "{any}", "requestBody": "any",
			"description": "string", "server": "Server",
		}
	case "Tag":
		return map[string]string{"name": "*string", "description": "string", "externalDocs": "ExternalDocumentation"}
	case "Reference":
		return map[string]string{"$ref": "*string", "summary": "string", "description": "string"}
	case "Discriminator":
		return map[string]string{"propertyName": "*string", "mapping": "{string}"}
	case "XML":
		return map[string]string{
			"name": "string", "namespace": "string", "prefix": "string", "attribute": "boolean", "wrapped": "boolean",
		}
	case "SecurityScheme":
		return map[string]string{
			"type": "*string", "description": "string", "name": "string", "in": "string", "scheme": "string",
			"bearerFormat": "string", "flows": "OAuthFlows", "openIdConnectUrl": "string",
		}
	case "OAuthFlows":
		return map[string]string{
			"implicit": "OAuthFlow", "password": "OAuthFlow", "clientCredentials": "OAuthFlow", "authorizationCode": "OAuthFlow",
		}
	case "OAuthFlow":
		return map[string]string{
			"authorizationUrl": "string", "tokenUrl": "string", "refreshUrl": "string", "scopes": "*{string}",
		}
	case "Schema":
		return map[string]string{
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
		}
	}
	return nil
}

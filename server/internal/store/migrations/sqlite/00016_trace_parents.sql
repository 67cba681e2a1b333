-- +goose Up
-- trace_parent is the span of the request that created the subject, as a traceparent; '' when it is not traced.
ALTER TABLE subjects ADD COLUMN trace_parent TEXT NOT NULL DEFAULT '';

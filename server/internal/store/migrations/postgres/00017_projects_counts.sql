-- +goose Up
-- A list counts the projects that it reads.
DROP INDEX IF EXISTS projects_counts;

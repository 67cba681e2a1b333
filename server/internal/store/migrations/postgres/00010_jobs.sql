-- +goose Up
-- River looks for jobs by their arguments and metadata in lists that nobody asks for here. These two
-- indexes are a third of what a job costs.
DROP INDEX IF EXISTS river_job_args_index;
DROP INDEX IF EXISTS river_job_metadata_index;

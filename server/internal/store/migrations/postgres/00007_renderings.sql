-- +goose Up
-- progress is a percentage; rendering is what was made: a JSON object with the names of files in the
-- media, and checks. The column video_url is not used any more.
ALTER TABLE subjects ADD COLUMN progress INTEGER NOT NULL DEFAULT 0;
ALTER TABLE subjects ADD COLUMN rendering TEXT NOT NULL DEFAULT '{}';

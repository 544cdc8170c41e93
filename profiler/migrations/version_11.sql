-- Version 11: names and pins that a user gives to models and jobs.
-- What a user says about a model, in all its files of the same content.
CREATE TABLE model_mark (
  sha256 TEXT    PRIMARY KEY NOT NULL,      -- as model.sha256
  name   TEXT    NOT NULL,                  -- '': none
  pinned INTEGER NOT NULL                   -- 0 or 1; 1: its jobs are never pruned
) STRICT, WITHOUT ROWID;

-- Likewise about a job.
CREATE TABLE job_mark (
  job_id INTEGER PRIMARY KEY REFERENCES job ON DELETE CASCADE,
  name   TEXT    NOT NULL,                  -- '': none
  pinned INTEGER NOT NULL                   -- 0 or 1; 1: never pruned
) STRICT;

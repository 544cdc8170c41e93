-- Version 13: curves over threads, instances, batch sizes and precisions.
-- How a model behaves over threads, instances, batch sizes and precisions.
CREATE TABLE curves (
  job_id   INTEGER PRIMARY KEY REFERENCES job ON DELETE CASCADE,
  noise    TEXT    NOT NULL,                -- whether the machine was quiet, as a sentence; '': not known
  notes    TEXT    NOT NULL,                -- JSON array of sentences: what was left out and why
  complete INTEGER NOT NULL                 -- 0 or 1; 0: it was interrupted
) STRICT;

CREATE TABLE curve_point (
  job_id       INTEGER NOT NULL REFERENCES job ON DELETE CASCADE,
  position     INTEGER NOT NULL,            -- 0-based
  precision    TEXT    NOT NULL,            -- 'fp32', 'bf16', 'fp16', 'int8'
  batch        INTEGER NOT NULL,            -- samples of a request
  threads      INTEGER NOT NULL,            -- of each instance
  instances    INTEGER NOT NULL,            -- that answer requests side by side
  inputs       TEXT    NOT NULL,            -- JSON array of values of --input; '[]': as given
  requests     INTEGER NOT NULL,            -- that were timed; 0: the point was not measured
  p50_ns       REAL,                        -- of a request
  p99_ns       REAL,                        -- of a request
  rate_per_s   TEXT    NOT NULL,            -- requests answered per second, one number a round
  memory_bytes INTEGER NOT NULL,            -- resident memory of the engine; 0: not known
  sqnr_db      REAL,                        -- of the results against the reference
  accurate     INTEGER NOT NULL,            -- 0 or 1; 1: the results pass
  noise        TEXT    NOT NULL,            -- 'quiet', 'busy', 'throttled'; '': not known
  PRIMARY KEY (job_id, position)
) STRICT, WITHOUT ROWID;

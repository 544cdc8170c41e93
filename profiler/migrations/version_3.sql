-- Version 3: what lower precision is worth: metrics on data, sensitivities of single operations, assignments tried.
ALTER TABLE run ADD COLUMN export_bytes INTEGER NOT NULL DEFAULT 0;  -- bytes of the compiled form; 0: not written

-- What a run's results are worth on a data set.
CREATE TABLE run_metric (
  run_id           INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,
  position         INTEGER NOT NULL,        -- 0: the one that was asked for
  name             TEXT    NOT NULL,        -- 'top-1', 'top-5', 'mse', 'cosine', 'sqnr', 'metric'
  value            REAL,                    -- shares are 0..1, sqnr is dB
  higher_is_better INTEGER NOT NULL,        -- 0 or 1
  samples          INTEGER NOT NULL,        -- count
  PRIMARY KEY (run_id, position)
) STRICT, WITHOUT ROWID;

-- One operation that a lower precision was tried for.
CREATE TABLE sensitivity (
  job_id        INTEGER NOT NULL REFERENCES job ON DELETE CASCADE,
  position      INTEGER NOT NULL,           -- 0-based, the most sensitive first
  key           TEXT    NOT NULL,           -- of the operation in a recipe
  name          TEXT    NOT NULL,           -- 'layer1.0.conv1 convolution'
  origins       TEXT    NOT NULL,           -- JSON array of origin.id
  precision     TEXT    NOT NULL,           -- that was tried
  sqnr_db       REAL,                       -- dB, of the model's results with this operation alone in it
  cumulative_db REAL,                       -- dB, with this and all less sensitive ones in it; NULL: not tried
  fp32_ns       INTEGER NOT NULL,           -- ns
  low_ns        INTEGER NOT NULL,           -- ns, casts and reorders it brings included
  chosen        TEXT    NOT NULL,           -- precision in the end
  reason        TEXT    NOT NULL,
  PRIMARY KEY (job_id, position)
) STRICT, WITHOUT ROWID;

-- One assignment of precisions that was built, timed and judged. The Pareto front: WHERE on_front ORDER BY elapsed_ns.
CREATE TABLE tradeoff (
  job_id     INTEGER NOT NULL REFERENCES job ON DELETE CASCADE,
  position   INTEGER NOT NULL,              -- 0-based, in order of trial
  name       TEXT    NOT NULL,              -- 'fp32', 'int8', '6 operations in fp32'
  elapsed_ns INTEGER NOT NULL,              -- ns, median of a forward
  metric     REAL,                          -- as run_metric.value
  sqnr_db    REAL,                          -- dB, against FP32
  fp32_nodes INTEGER NOT NULL,              -- count of operations
  bf16_nodes INTEGER NOT NULL,
  int8_nodes INTEGER NOT NULL,
  allowed    INTEGER NOT NULL,              -- 0 or 1: within the budget
  on_front   INTEGER NOT NULL,              -- 0 or 1: nothing else is both faster and better
  chosen     INTEGER NOT NULL,              -- 0 or 1
  PRIMARY KEY (job_id, position)
) STRICT, WITHOUT ROWID;

-- One row per run and precision: share of its steps and of their time. Steps that are not timed count nothing.
CREATE VIEW run_precision AS
SELECT s.run_id AS run_id, s.precision AS precision, count(*) AS steps,
       count(*) * 1.0 / (SELECT count(*) FROM plan_step u WHERE u.run_id = s.run_id) AS share_of_steps,
       sum(t.p50_ns) AS elapsed_ns,
       sum(t.p50_ns) * 1.0 / (SELECT sum(v.p50_ns) FROM step_stat v WHERE v.run_id = s.run_id AND v.step >= 0) AS share_of_time
FROM plan_step s
LEFT JOIN step_stat t ON t.run_id = s.run_id AND t.step = s.step
GROUP BY s.run_id, s.precision;

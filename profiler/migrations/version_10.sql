-- Version 10: what passes gain.
-- Time that a pass gains in a job's model, measured by leaving it out: the latency without it less that with it.
CREATE TABLE pass_gain (
  job_id  INTEGER NOT NULL REFERENCES job ON DELETE CASCADE,
  pass    TEXT    NOT NULL,                 -- 'fold-batch-norm'
  gain_ns REAL,                             -- negative: the model is faster without the pass
  low_ns  REAL,                             -- of the 95 % interval, the lower end
  high_ns REAL,                             -- its upper end
  PRIMARY KEY (job_id, pass)
) STRICT, WITHOUT ROWID;

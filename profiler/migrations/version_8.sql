-- Version 8: trainings.
-- How a model was trained.
CREATE TABLE training (
  job_id           INTEGER PRIMARY KEY REFERENCES job ON DELETE CASCADE,
  loss             TEXT    NOT NULL,        -- 'cross_entropy'
  optimizer        TEXT    NOT NULL,        -- 'sgd:lr=0.01,momentum=0.9'
  schedule         TEXT    NOT NULL,        -- 'cosine:warmup=100'
  precision        TEXT    NOT NULL,        -- 'fp32', 'bf16'
  metric           TEXT    NOT NULL,        -- of training_epoch: 'top-1', 'loss'; '': nothing was judged
  higher_is_better INTEGER NOT NULL,        -- 0 or 1, of the metric
  epochs           INTEGER NOT NULL,        -- count that was asked for
  steps_per_epoch  INTEGER NOT NULL,        -- count
  batch            INTEGER NOT NULL,        -- samples per step
  samples          INTEGER NOT NULL,        -- count of the data
  parameters       INTEGER NOT NULL,        -- count of numbers that are trained
  threads          INTEGER NOT NULL,        -- count
  resumed_at       INTEGER NOT NULL,        -- step of the checkpoint that it went on from; 0: it began anew
  finished         INTEGER NOT NULL         -- 0 or 1; 0: interrupted, or failed
) STRICT;

-- A step of a training; in long ones a row stands for several successive steps and holds their means.
CREATE TABLE training_step (
  job_id        INTEGER NOT NULL REFERENCES training ON DELETE CASCADE,
  step          INTEGER NOT NULL,           -- 1-based number; of several steps the last one
  steps         INTEGER NOT NULL,           -- count of steps behind the row
  loss          REAL,                       -- mean over the batch
  learning_rate REAL,                       -- factor of the update
  gradient_norm REAL,                       -- of all gradients together, before clipping
  accuracy      REAL,                       -- share 0..1 of the batch's labels; NULL: there are no labels
  data_ns       INTEGER NOT NULL,           -- reading and preparing the batch
  forward_ns    INTEGER NOT NULL,           -- with the loss
  backward_ns   INTEGER NOT NULL,           -- through autograd
  update_ns     INTEGER NOT NULL,           -- the optimizer, with the norm of the gradients
  PRIMARY KEY (job_id, step)
) STRICT, WITHOUT ROWID;

-- The end of an epoch.
CREATE TABLE training_epoch (
  job_id     INTEGER NOT NULL REFERENCES training ON DELETE CASCADE,
  epoch      INTEGER NOT NULL,              -- 1-based number
  step       INTEGER NOT NULL,              -- 1-based number of its last step
  loss       REAL,                          -- mean over its steps; NULL: none of them was run in this job
  metric     REAL,                          -- training.metric on the data kept for validation; NULL: not judged
  elapsed_ns INTEGER NOT NULL,              -- steps and validation
  PRIMARY KEY (job_id, epoch)
) STRICT, WITHOUT ROWID;

-- Version 14: layers and memory in steps of trainings, and what ended a training.
ALTER TABLE training ADD COLUMN fault TEXT NOT NULL DEFAULT '';

-- What a layer took in a step that was profiled.
CREATE TABLE training_layer (
  job_id        INTEGER NOT NULL REFERENCES training ON DELETE CASCADE,
  step          INTEGER NOT NULL,           -- 1-based number
  position      INTEGER NOT NULL,           -- 0-based, the longest layer first
  layer         TEXT    NOT NULL,           -- module path, 'layer1.0.conv1', or the kind of operations, 'aten::relu'
  forward_ns    INTEGER NOT NULL,           -- its operations in forward
  backward_ns   INTEGER NOT NULL,           -- their gradient functions
  update_ns     INTEGER NOT NULL,           -- share of the optimizer's time
  parameters    INTEGER NOT NULL,           -- count of numbers of it that are trained
  gradient_norm REAL,                       -- of its parameters; NULL: it has none, or the norm was not finite
  kept_bytes    INTEGER NOT NULL,           -- what its forward left allocated
  PRIMARY KEY (job_id, step, position)
) STRICT, WITHOUT ROWID;

-- The memory of tensors over a step that was profiled; what there was before the step is not in it.
CREATE TABLE training_memory (
  job_id           INTEGER NOT NULL REFERENCES training ON DELETE CASCADE,
  step             INTEGER NOT NULL,        -- 1-based number
  position         INTEGER NOT NULL,        -- 0-based
  at_ns            INTEGER NOT NULL,        -- since forward began
  phase            TEXT    NOT NULL,        -- 'forward' or 'backward'
  layer            TEXT    NOT NULL,        -- of the operation that has just ended; '': none is known
  activation_bytes INTEGER NOT NULL,        -- all but the gradients of parameters
  gradient_bytes   INTEGER NOT NULL,        -- gradients of parameters
  peak_bytes       INTEGER NOT NULL,        -- the most of both at once since the row before
  PRIMARY KEY (job_id, step, position)
) STRICT, WITHOUT ROWID;

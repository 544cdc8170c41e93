-- Version 4: what was tried, so that it can be taken over again.
ALTER TABLE tradeoff ADD COLUMN assignment TEXT NOT NULL DEFAULT '';  -- a digit per sensitivity, in order of position: 0 fp32, 1 int8, 2 bf16; or 'bf16' for all; '': not known

-- What a user decided against the optimizer in a job; of those that contradict the last holds.
CREATE TABLE decision (
  job_id    INTEGER NOT NULL REFERENCES job ON DELETE CASCADE,
  position  INTEGER NOT NULL,               -- 0-based
  what      TEXT    NOT NULL,               -- 'layer1.0.conv3', 'kind:convolution', '*'; of a kernel: name of the step
  precision TEXT    NOT NULL,               -- 'fp32', 'bf16', 'int8'; '': a kernel is pinned
  spec      TEXT    NOT NULL,               -- as plan_step.spec; '' for a precision, like all that follows
  dst_shape TEXT    NOT NULL,
  kernel    TEXT    NOT NULL,
  layout    TEXT    NOT NULL,
  PRIMARY KEY (job_id, position)
) STRICT, WITHOUT ROWID;

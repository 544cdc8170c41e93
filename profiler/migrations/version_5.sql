-- Version 5: batches computed a few samples at a time.
ALTER TABLE plan_step ADD COLUMN slices INTEGER NOT NULL DEFAULT 1;  -- count of runs in one run of the plan, each on as many samples as dst_shape has; flops and bytes are of all of them

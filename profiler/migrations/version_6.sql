-- Version 6: the field's name for the runs of a step on parts of a batch.
ALTER TABLE plan_step RENAME COLUMN slices TO micro_batches;

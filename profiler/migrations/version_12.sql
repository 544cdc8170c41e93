-- Version 12: steps in loops.
ALTER TABLE plan_step ADD COLUMN runs REAL NOT NULL DEFAULT 1;

-- Version 15: the device of each step, which only names told before: those of its kernel and of copies.
ALTER TABLE plan_step ADD COLUMN device TEXT NOT NULL DEFAULT 'cpu';

UPDATE plan_step
SET device = (SELECT run.device || CASE WHEN instr(run.device, ':') > 0 THEN '' ELSE ':0' END
              FROM run WHERE run.id = plan_step.run_id)
WHERE kernel = 'device_copy' OR kernel LIKE '%\_xpu' ESCAPE '\';

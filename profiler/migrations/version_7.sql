-- Version 7: what else the machine did, times of nodes with what ran inside, and shares that never exceed the whole.
ALTER TABLE run ADD COLUMN noise_wall_ns INTEGER NOT NULL DEFAULT 0;  -- ns that were watched; 0: nobody looked
ALTER TABLE run ADD COLUMN cpus INTEGER NOT NULL DEFAULT 0;           -- count of CPUs that the run could use
ALTER TABLE run ADD COLUMN others REAL;                               -- count of these that other programs used, on average
ALTER TABLE run ADD COLUMN stolen REAL;                               -- share 0..1 of these that a hypervisor gave to others
ALTER TABLE run ADD COLUMN preempted_per_s REAL;                      -- times a second that a thread lost its CPU
ALTER TABLE run ADD COLUMN throttled REAL;                            -- share 0..1 of time that a CPU quota held threads back
ALTER TABLE run ADD COLUMN fastest_chain_ns INTEGER NOT NULL DEFAULT 0;  -- ns of a fixed chain of multiplications
ALTER TABLE run ADD COLUMN slowest_chain_ns INTEGER NOT NULL DEFAULT 0;  -- ns, at the slowest clock
ALTER TABLE run ADD COLUMN noise TEXT NOT NULL DEFAULT '';            -- 'quiet', 'busy', 'throttled'; '': unknown
ALTER TABLE step_time ADD COLUMN whole_ns TEXT NOT NULL DEFAULT '[]'; -- JSON array
DROP VIEW run_unattributed;
DROP VIEW step_stat;
CREATE VIEW step_stat AS
SELECT run_id, step, name, kind, p50_ns, p99_ns, p50_ns * 1.0 / max(run_p50_ns, sum(p50_ns) OVER (PARTITION BY run_id)) AS share
FROM (
SELECT t.run_id, t.step, coalesce(s.name, t.name) AS name, coalesce(s.kind, t.kind) AS kind, run.p50_ns AS run_p50_ns,
       (SELECT value FROM (SELECT sample.value AS value, row_number() OVER (ORDER BY sample.value) AS place,
                             count(*) OVER () AS n
                      FROM step_time u, json_each(u.elapsed_ns) AS sample
                      WHERE u.run_id = t.run_id AND u.step = t.step
                        AND u.kind = t.kind AND u.name = t.name
                        AND u.origins = t.origins)
        WHERE place = (n * 50 + 99) / 100) AS p50_ns,
       (SELECT value FROM (SELECT sample.value AS value, row_number() OVER (ORDER BY sample.value) AS place,
                             count(*) OVER () AS n
                      FROM step_time u, json_each(u.elapsed_ns) AS sample
                      WHERE u.run_id = t.run_id AND u.step = t.step
                        AND u.kind = t.kind AND u.name = t.name
                        AND u.origins = t.origins)
        WHERE place = (n * 99 + 99) / 100) AS p99_ns
FROM step_time t
JOIN run ON run.id = t.run_id
LEFT JOIN plan_step s ON s.run_id = t.run_id AND s.step = t.step
WHERE t.position = (SELECT min(u.position) FROM step_time u
                    WHERE u.run_id = t.run_id AND u.step = t.step AND u.kind = t.kind
                      AND u.name = t.name AND u.origins = t.origins));

CREATE VIEW run_unattributed AS
SELECT run_id, run_p50_ns, steps_p50_ns, max(0, run_p50_ns - steps_p50_ns) AS unattributed_ns
FROM (SELECT id AS run_id, p50_ns AS run_p50_ns,
             (SELECT sum(step_stat.p50_ns) FROM step_stat WHERE step_stat.run_id = run.id) AS steps_p50_ns
      FROM run)
WHERE steps_p50_ns IS NOT NULL;

-- profile.db: all facts that ipex-studio keeps about its runs. The window, the reports and the sqlite3 shell read the
-- same tables and views.
--
--   job ─┬─ model ─┬─ origin        one job = one `run`, `bench` or studio session on one model
--        │         └─ source_file, source_place
--        ├─ machine
--        ├─ job_input
--        ├─ pass_run ── snapshot     the graph after each pass that changed it
--        ├─ remark                   why a rewrite happened or did not
--        └─ run ─┬─ plan_step ── dispatch
--                ├─ step_time
--                ├─ accuracy
--                └─ run_metric
--   job ─┬─ sensitivity               errors in lower precision, and every assignment that was tried
--        ├─ tradeoff
--        ├─ decision                  decisions of a user against the optimizer
--        ├─ pass_gain                 what passes gain, measured by leaving them out
--        ├─ curves ── curve_point     times over threads, instances, batch sizes and precisions
--        └─ training ─┬─ training_step
--                     ├─ training_epoch
--                     ├─ training_layer   layers of steps that were profiled
--                     └─ training_memory
--   tuning ── tuning_candidate        kept from job to job, like the two tables after it
--   model_input, trusted_model, model_mark; job ── job_mark: names and pins
--
-- This file makes a fresh database, with the tables of the current version (PRAGMA user_version). Older databases are
-- brought forward by migrations/version_N.sql, each a step from version N - 1 to N; both ways give the same tables.
--
-- Units are in the names or in the comments: _ns nanoseconds, _bytes bytes, _db decibel. Lists are JSON arrays, to be
-- opened with json_each() (the views use no other JSON function: SQLite 3.40 lets a schema that is not trusted call
-- none); lists of samples are in order of measurement. Statistics are views; percentiles are by nearest rank, so each
-- is a value that was measured. NULL in a REAL column is a number that was not finite.
--
--   sqlite3 profile.db "SELECT * FROM job_speedup"
--   sqlite3 profile.db "SELECT name, p50_ns / 1e6 AS ms, share FROM step_stat WHERE run_id = 2 ORDER BY ms DESC LIMIT 10"
--   sqlite3 profile.db "SELECT reason, count(*) FROM remark WHERE kind = 'missed' GROUP BY reason"

CREATE TABLE model (
  id         INTEGER PRIMARY KEY,
  sha256     TEXT    NOT NULL,              -- of the file, lower-case hex
  path       TEXT    NOT NULL,              -- as it was named when the job started
  file_bytes INTEGER NOT NULL,              -- bytes
  nodes      INTEGER NOT NULL,              -- count, of the frozen graph, without constants
  digest     INTEGER NOT NULL               -- FNV-1a of the origins; finds an equal row
) STRICT;
CREATE INDEX model_by_sha256 ON model (sha256);

-- Identity of one node of the frozen graph. Runs align on (module_path, kind, ordinal).
CREATE TABLE origin (
  model_id    INTEGER NOT NULL REFERENCES model ON DELETE CASCADE,
  id          INTEGER NOT NULL,             -- unique within the model
  position    INTEGER NOT NULL,             -- 0-based, in graph order
  module_path TEXT    NOT NULL,             -- 'layer1.0.conv3'
  kind        TEXT    NOT NULL,             -- 'aten::conv2d'
  ordinal     INTEGER NOT NULL,             -- 0-based count of this kind within this module path
  source      TEXT    NOT NULL,             -- 'file.py:12' of the model's author, or ''
  PRIMARY KEY (model_id, id)
) STRICT, WITHOUT ROWID;

-- Text of a model's source, and the lines that each node comes from.
CREATE TABLE source_file (
  model_id   INTEGER NOT NULL REFERENCES model ON DELETE CASCADE,
  position   INTEGER NOT NULL,              -- 0-based, in the order in which forward reaches the files
  name       TEXT    NOT NULL,              -- 'code/__torch__.py', 'net.py'
  python     INTEGER NOT NULL,              -- 0: TorchScript as the file holds it; 1: what its author wrote
  first_line INTEGER NOT NULL,              -- 1-based number of the text's first line
  text       TEXT    NOT NULL,              -- '': the place alone is known
  cut        INTEGER NOT NULL,              -- 0 or 1; 1: long lines or the end are left out
  PRIMARY KEY (model_id, position)
) STRICT, WITHOUT ROWID;

CREATE TABLE source_place (
  model_id INTEGER NOT NULL REFERENCES model ON DELETE CASCADE,
  position INTEGER NOT NULL,                -- 0-based; of an origin the outermost call first, the node itself last
  origin   INTEGER NOT NULL,                -- origin.id
  file     INTEGER NOT NULL,                -- source_file.position
  line     INTEGER NOT NULL,                -- 1-based number in the file
  call     INTEGER NOT NULL,                -- 1: the call of the function that holds the node; 0: the node itself
  PRIMARY KEY (model_id, position)
) STRICT, WITHOUT ROWID;

-- Numbers without the machine mean nothing. One row per distinct set of facts.
CREATE TABLE machine (
  id           INTEGER PRIMARY KEY,
  cpu          TEXT    NOT NULL,
  isa          TEXT    NOT NULL,            -- highest tier usable for kernels: 'avx512_core_bf16'
  features     TEXT    NOT NULL,            -- JSON array of strings: ["avx2","avx512f"]
  cores        INTEGER NOT NULL,            -- count usable: affinity mask and cgroup quota
  libtorch     TEXT    NOT NULL,            -- version
  onednn       TEXT    NOT NULL,            -- version
  os           TEXT    NOT NULL,
  governor     TEXT    NOT NULL,            -- '' when unreadable
  memory_bytes INTEGER NOT NULL             -- bytes
) STRICT;

CREATE TABLE job (
  id              INTEGER PRIMARY KEY,
  model_id        INTEGER NOT NULL REFERENCES model,
  machine_id      INTEGER NOT NULL REFERENCES machine,
  command         TEXT    NOT NULL,         -- 'run', 'bench', 'studio'
  options         TEXT    NOT NULL,         -- one JSON object
  started_unix_ns INTEGER NOT NULL,         -- ns since 1970-01-01 UTC
  frozen_id       INTEGER REFERENCES snapshot -- the graph before any pass
) STRICT;
CREATE INDEX job_by_model ON job (model_id);
CREATE INDEX job_by_start ON job (started_unix_ns);

CREATE TABLE job_input (
  job_id      INTEGER NOT NULL REFERENCES job ON DELETE CASCADE,
  position    INTEGER NOT NULL,             -- 0-based, order of forward()
  name        TEXT    NOT NULL,
  description TEXT    NOT NULL,             -- '1x3x224x224:float32', '16000'
  guessed     INTEGER NOT NULL,             -- 0 or 1
  PRIMARY KEY (job_id, position)
) STRICT, WITHOUT ROWID;

-- Graphs. Equal ones are stored once, so the tenth job on a model adds none.
CREATE TABLE snapshot (
  id     INTEGER PRIMARY KEY,
  digest INTEGER NOT NULL,                  -- FNV-1a of graph; finds an equal row
  graph  TEXT    NOT NULL                   -- JSON: {pass_index, after_pass, nodes, values, inputs, outputs, text}
) STRICT;
CREATE INDEX snapshot_by_digest ON snapshot (digest);

CREATE TABLE pass_run (
  job_id      INTEGER NOT NULL REFERENCES job ON DELETE CASCADE,
  position    INTEGER NOT NULL,             -- 1-based place in the pipeline
  name        TEXT    NOT NULL,             -- 'fold-batch-norm'
  summary     TEXT    NOT NULL,
  changed     INTEGER NOT NULL,             -- 0 or 1
  rewrites    INTEGER NOT NULL,             -- count of applied remarks
  missed      INTEGER NOT NULL,             -- count of missed remarks
  elapsed_ns  INTEGER NOT NULL,             -- ns
  hash_before INTEGER NOT NULL,             -- 64 bits as a signed number
  hash_after  INTEGER NOT NULL,             -- 64 bits as a signed number
  nodes_after INTEGER NOT NULL,             -- count without constants
  snapshot_id INTEGER REFERENCES snapshot,  -- NULL when nothing changed
  PRIMARY KEY (job_id, position)
) STRICT, WITHOUT ROWID;
CREATE INDEX pass_run_by_snapshot ON pass_run (snapshot_id);
CREATE INDEX job_by_frozen ON job (frozen_id);

CREATE TABLE remark (
  job_id   INTEGER NOT NULL REFERENCES job ON DELETE CASCADE,
  position INTEGER NOT NULL,                -- 0-based, in order of appearance
  pass     TEXT    NOT NULL,
  kind     TEXT    NOT NULL CHECK (kind IN ('applied', 'missed')),
  reason   TEXT    NOT NULL,                -- kebab-case code
  text     TEXT    NOT NULL,                -- a sentence
  origins  TEXT    NOT NULL,                -- JSON array of origin.id
  PRIMARY KEY (job_id, position)
) STRICT, WITHOUT ROWID;

-- One measured variant.
CREATE TABLE run (
  id                INTEGER PRIMARY KEY,
  job_id            INTEGER NOT NULL REFERENCES job ON DELETE CASCADE,
  position          INTEGER NOT NULL,       -- 0-based within the job
  variant           TEXT    NOT NULL,       -- 'baseline', 'optimized'
  device            TEXT    NOT NULL,       -- 'cpu', 'xpu:0'
  precision         TEXT    NOT NULL,       -- 'fp32', 'bf16', 'fp16', 'int8'
  threads           INTEGER NOT NULL,       -- count per instance
  instances         INTEGER NOT NULL,       -- count running at the same time
  warmup_iterations INTEGER NOT NULL,       -- count, not part of latency_ns
  samples           INTEGER NOT NULL,       -- count of timed iterations, before thinning to the size budget
  p50_ns            INTEGER NOT NULL,       -- ns, median of all of them: kept so that lists and shares are quick
  latency_ns        TEXT    NOT NULL,       -- JSON array of ns, one per timed iteration
  turn              TEXT    NOT NULL,       -- JSON array, as long as latency_ns or empty: turn of the interleaving
  load_ns           INTEGER NOT NULL,       -- ns, file to frozen module
  compile_ns        INTEGER NOT NULL,       -- ns, passes and plan
  tune_ns           INTEGER NOT NULL,       -- ns
  first_run_ns      INTEGER NOT NULL,       -- ns
  peak_rss_bytes    INTEGER NOT NULL,       -- bytes
  cpu_per_wall      REAL,                   -- CPU seconds per wall second of the timed part
  coverage_nodes    REAL,                   -- share 0..1 of graph nodes inside regions
  coverage_time     REAL,                   -- share 0..1 of run time inside regions
  export_bytes      INTEGER NOT NULL DEFAULT 0, -- bytes of the compiled form; 0: not written
  noise_wall_ns     INTEGER NOT NULL DEFAULT 0, -- ns that the machine was watched; 0: nobody looked
  cpus              INTEGER NOT NULL DEFAULT 0, -- count of CPUs that the run could use
  others            REAL,                   -- count of these that other programs used, on average
  stolen            REAL,                   -- share 0..1 of these that a hypervisor gave to others
  preempted_per_s   REAL,                   -- times a second that a thread of the run lost its CPU
  throttled         REAL,                   -- share 0..1 of time that a CPU quota held threads back
  fastest_chain_ns  INTEGER NOT NULL DEFAULT 0, -- ns of a fixed chain of multiplications
  slowest_chain_ns  INTEGER NOT NULL DEFAULT 0, -- ns of it at the slowest clock
  noise             TEXT NOT NULL DEFAULT '' -- 'quiet', 'busy', 'throttled'; '': unknown
) STRICT;
CREATE INDEX run_by_job ON run (job_id);

-- One step of a compiled plan.
CREATE TABLE plan_step (
  run_id         INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,
  step           INTEGER NOT NULL,          -- unique within the run, in execution order
  position       INTEGER NOT NULL,          -- 0-based, as recorded
  region         INTEGER NOT NULL,          -- which region node of the graph
  name           TEXT    NOT NULL,          -- 'layer1.0.conv3 + add + relu'
  kind           TEXT    NOT NULL,          -- 'convolution', 'reorder', 'pointwise'
  spec           TEXT    NOT NULL,          -- what is computed, post-ops included
  kernel         TEXT    NOT NULL,          -- 'convolution_onednn'
  implementation TEXT    NOT NULL,          -- as the library reports it: 'brgconv:avx512_core'; '' for own kernels
  src_layout     TEXT    NOT NULL,          -- 'nChw16c', 'nhwc'
  dst_layout     TEXT    NOT NULL,
  dst_shape      TEXT    NOT NULL,          -- '1x256x56x56'
  precision      TEXT    NOT NULL,
  origins        TEXT    NOT NULL,          -- JSON array of origin.id
  flops          INTEGER NOT NULL,          -- count per execution; multiply and add are two
  bytes          INTEGER NOT NULL,          -- bytes, least traffic: sources + weights + destinations
  arena_begin    INTEGER NOT NULL,          -- bytes, destination's offset in the arena; -1: not in the arena
  arena_size     INTEGER NOT NULL,          -- bytes
  last_use       INTEGER NOT NULL,          -- step that reads the destination last
  micro_batches  INTEGER NOT NULL DEFAULT 1, -- count of runs in one run of the plan, each on as many samples as
                                            -- dst_shape has; flops and bytes are of all of them
  runs           REAL    NOT NULL DEFAULT 1, -- count per run of the model: more in loops
  device         TEXT    NOT NULL DEFAULT 'cpu', -- where it ran: 'opencl:0'; of a copy the one that is not the host
  PRIMARY KEY (run_id, step)
) STRICT, WITHOUT ROWID;

-- Each kernel that was considered for a step.
CREATE TABLE dispatch (
  run_id     INTEGER NOT NULL,              -- as plan_step.run_id
  position   INTEGER NOT NULL,              -- 0-based, in order of consideration
  step       INTEGER NOT NULL,              -- as plan_step.step
  kernel     TEXT    NOT NULL,
  layout     TEXT    NOT NULL,
  chosen     INTEGER NOT NULL,              -- 0 or 1
  reason     TEXT    NOT NULL,              -- why refused, or 'chosen', or 'slower'
  elapsed_ns INTEGER NOT NULL,              -- ns; 0: not timed
  max_error  REAL,                          -- against the reference kernel; 0: not checked
  PRIMARY KEY (run_id, position),
  FOREIGN KEY (run_id, step) REFERENCES plan_step ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

-- Raw samples of a plan step (step >= 0), or of a node left to the interpreter (step < 0; name, kind, origins tell).
CREATE TABLE step_time (
  run_id     INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,
  position   INTEGER NOT NULL,              -- 0-based, as recorded
  step       INTEGER NOT NULL,              -- as plan_step.step; negative: a node left to the interpreter
  name       TEXT    NOT NULL,
  kind       TEXT    NOT NULL,
  origins    TEXT    NOT NULL,              -- JSON array of origin.id
  thread     INTEGER NOT NULL,              -- instance that ran it
  begin_ns   TEXT    NOT NULL,              -- JSON array of ns since the first timed iteration began
  elapsed_ns TEXT    NOT NULL,              -- JSON array of ns, one per iteration kept, without steps that ran inside
  whole_ns   TEXT NOT NULL DEFAULT '[]',    -- JSON array of ns, with them; [] if there were none
  PRIMARY KEY (run_id, position)
) STRICT, WITHOUT ROWID;
CREATE INDEX step_time_by_step ON step_time (run_id, step, kind, name, origins);

-- The distance of results from their reference.
CREATE TABLE accuracy (
  run_id    INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,
  position  INTEGER NOT NULL,               -- 0: the run's verdict (worst output); from 1: single nodes and outputs
  origins   TEXT    NOT NULL,               -- JSON array of origin.id; [] for an output of the model
  output    INTEGER NOT NULL,               -- which output; -1: worst of all
  reference TEXT    NOT NULL,               -- 'fp64', 'eager'; of nodes 'fp32, alone' (operands as in FP32), 'fp32' (what added up)
  max_abs   REAL,                           -- max |Δ|
  max_rel   REAL,                           -- max |Δ| / max |reference|
  sqnr_db   REAL,                           -- dB; 999 when Δ is zero everywhere
  cosine    REAL,                           -- 1 is equal
  pass      INTEGER NOT NULL,               -- 0 or 1
  text      TEXT    NOT NULL,               -- the rule and its bound
  PRIMARY KEY (run_id, position)
) STRICT, WITHOUT ROWID;

-- Quality of a run's results on a data set.
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
  bf16_nodes INTEGER NOT NULL,              -- count of operations
  int8_nodes INTEGER NOT NULL,              -- count of operations
  allowed    INTEGER NOT NULL,              -- 0 or 1: within the budget
  on_front   INTEGER NOT NULL,              -- 0 or 1: nothing else is both faster and better
  chosen     INTEGER NOT NULL,              -- 0 or 1
  assignment TEXT    NOT NULL DEFAULT '',   -- a digit per sensitivity, in order of position: 0 fp32, 1 int8, 2 bf16; or
                                            -- 'bf16' for all; '': not known
  PRIMARY KEY (job_id, position)
) STRICT, WITHOUT ROWID;

-- A user's decision against the optimizer in a job; of decisions that contradict each other the last holds.
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

-- Time that a pass gains in a job's model, measured by leaving it out: the latency without it less that with it.
CREATE TABLE pass_gain (
  job_id  INTEGER NOT NULL REFERENCES job ON DELETE CASCADE,
  pass    TEXT    NOT NULL,                 -- 'fold-batch-norm'
  gain_ns REAL,                             -- negative: the model is faster without the pass
  low_ns  REAL,                             -- of the 95 % interval, the lower end
  high_ns REAL,                             -- its upper end
  PRIMARY KEY (job_id, pass)
) STRICT, WITHOUT ROWID;

-- How a model behaves over threads, instances, batch sizes and precisions.
CREATE TABLE curves (
  job_id   INTEGER PRIMARY KEY REFERENCES job ON DELETE CASCADE,
  noise    TEXT    NOT NULL,                -- whether the machine was quiet, as a sentence; '': not known
  notes    TEXT    NOT NULL,                -- JSON array of sentences: what was left out and why
  complete INTEGER NOT NULL                 -- 0 or 1; 0: it was interrupted
) STRICT;

CREATE TABLE curve_point (
  job_id       INTEGER NOT NULL REFERENCES job ON DELETE CASCADE,
  position     INTEGER NOT NULL,            -- 0-based
  precision    TEXT    NOT NULL,            -- 'fp32', 'bf16', 'fp16', 'int8'
  batch        INTEGER NOT NULL,            -- samples of a request
  threads      INTEGER NOT NULL,            -- of each instance
  instances    INTEGER NOT NULL,            -- that answer requests side by side
  inputs       TEXT    NOT NULL,            -- JSON array of values of --input; '[]': as given
  requests     INTEGER NOT NULL,            -- that were timed; 0: the point was not measured
  p50_ns       REAL,                        -- of a request
  p99_ns       REAL,                        -- of a request
  rate_per_s   TEXT    NOT NULL,            -- requests answered per second, one number a round
  memory_bytes INTEGER NOT NULL,            -- resident memory of the engine; 0: not known
  sqnr_db      REAL,                        -- of the results against the reference
  accurate     INTEGER NOT NULL,            -- 0 or 1; 1: the results pass
  noise        TEXT    NOT NULL,            -- 'quiet', 'busy', 'throttled'; '': not known
  PRIMARY KEY (job_id, position)
) STRICT, WITHOUT ROWID;

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
  finished         INTEGER NOT NULL,        -- 0 or 1; 0: interrupted, or failed
  fault            TEXT    NOT NULL DEFAULT ''  -- 'step 3: aten::log of head', the first operation that made NaN; ''
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

-- Measurements that kernels were chosen by: one row for a step with its shapes, or ("plan <sha256>") for the choice
-- over a whole plan; valid for one device, ISA, set of library versions and thread count.
CREATE TABLE tuning (
  id        INTEGER PRIMARY KEY AUTOINCREMENT,
  spec      TEXT    NOT NULL,               -- what is computed
  device    TEXT    NOT NULL,               -- 'cpu'
  isa       TEXT    NOT NULL,
  libraries TEXT    NOT NULL,               -- 'ipex-studio 0.1.0, oneDNN 2.6.3'
  threads   INTEGER NOT NULL,               -- count
  effort    INTEGER NOT NULL,               -- 1 quick, 2 full
  UNIQUE (spec, device, isa, libraries, threads)
) STRICT;

-- The candidates of a tuning row, each with its time; for a plan, the kernels of the nodes that leave the default.
CREATE TABLE tuning_candidate (
  tuning_id      INTEGER NOT NULL REFERENCES tuning (id) ON DELETE CASCADE,
  position       INTEGER NOT NULL,          -- 0-based; the default kernel first
  node           INTEGER NOT NULL,          -- of a plan; -1 otherwise
  kernel         TEXT    NOT NULL,
  kept           INTEGER NOT NULL,          -- post-operations in the kernel; the others follow as a step
  src            TEXT    NOT NULL,          -- JSON array: layout of each source, '' as it comes
  dst            TEXT    NOT NULL,          -- layout of the result
  implementation TEXT    NOT NULL,          -- as the library names it
  elapsed_ns     INTEGER NOT NULL,          -- ns; 0: not timed
  max_error      REAL,                      -- max |Δ| / max |result| against the default kernel
  reason         TEXT    NOT NULL,          -- why it cannot be chosen; '' when it can
  PRIMARY KEY (tuning_id, position)
) STRICT, WITHOUT ROWID;

-- The inputs that were used last for a model: offered when none are given.
CREATE TABLE model_input (
  sha256      TEXT    NOT NULL,
  position    INTEGER NOT NULL,             -- 0-based, order of forward()
  name        TEXT    NOT NULL,
  description TEXT    NOT NULL,             -- '1x3x224x224:float32'
  guessed     INTEGER NOT NULL,             -- 0 or 1
  PRIMARY KEY (sha256, position)
) STRICT, WITHOUT ROWID;

-- Models that the owner of this database lets run without a sandbox. Never imported from another database.
CREATE TABLE trusted_model (
  sha256          TEXT    PRIMARY KEY NOT NULL,
  trusted_unix_ns INTEGER NOT NULL          -- ns since 1970-01-01 UTC
) STRICT, WITHOUT ROWID;

-- What a user says about a model, in all its files of the same content.
CREATE TABLE model_mark (
  sha256 TEXT    PRIMARY KEY NOT NULL,      -- as model.sha256
  name   TEXT    NOT NULL,                  -- '': none
  pinned INTEGER NOT NULL                   -- 0 or 1; 1: its jobs are never pruned
) STRICT, WITHOUT ROWID;

-- Likewise about a job.
CREATE TABLE job_mark (
  job_id INTEGER PRIMARY KEY REFERENCES job ON DELETE CASCADE,
  name   TEXT    NOT NULL,                  -- '': none
  pinned INTEGER NOT NULL                   -- 0 or 1; 1: never pruned
) STRICT;

-- One row per timed iteration.
CREATE VIEW run_sample AS
SELECT run.id AS run_id, sample.key AS iteration, sample.value AS elapsed_ns
FROM run, json_each(run.latency_ns) AS sample;

-- The turn of the interleaving that each timed iteration belongs to.
CREATE VIEW run_turn AS
SELECT run.id AS run_id, sample.key AS iteration, sample.value AS turn
FROM run, json_each(run.turn) AS sample;

-- One row per run. Throughput counts all instances. (Each statistic is a subquery of its own so that a query for one run
-- touches that run alone.)
CREATE VIEW run_stat AS
SELECT id AS run_id, samples,
       (SELECT min(value) FROM json_each(run.latency_ns)) AS min_ns,
       (SELECT avg(value) FROM json_each(run.latency_ns)) AS mean_ns,
       (SELECT value FROM (SELECT value, row_number() OVER (ORDER BY value) AS place, count(*) OVER () AS n
                      FROM json_each(run.latency_ns))
        WHERE place = (n * 50 + 99) / 100) AS p50_ns,
       (SELECT value FROM (SELECT value, row_number() OVER (ORDER BY value) AS place, count(*) OVER () AS n
                      FROM json_each(run.latency_ns))
        WHERE place = (n * 90 + 99) / 100) AS p90_ns,
       (SELECT value FROM (SELECT value, row_number() OVER (ORDER BY value) AS place, count(*) OVER () AS n
                      FROM json_each(run.latency_ns))
        WHERE place = (n * 95 + 99) / 100) AS p95_ns,
       (SELECT value FROM (SELECT value, row_number() OVER (ORDER BY value) AS place, count(*) OVER () AS n
                      FROM json_each(run.latency_ns))
        WHERE place = (n * 99 + 99) / 100) AS p99_ns,
       (SELECT max(value) FROM json_each(run.latency_ns)) AS max_ns,
       (SELECT run.instances * 1e9 / avg(value) FROM json_each(run.latency_ns)) AS throughput_per_s
FROM run;

-- One row per job that measured both variants, with the speed-up.
CREATE VIEW job_speedup AS
SELECT job.id AS job_id, model.path AS model, datetime(job.started_unix_ns / 1000000000, 'unixepoch') AS started,
       b.precision AS precision, b.threads AS threads,
       a.p50_ns AS baseline_p50_ns, b.p50_ns AS optimized_p50_ns, a.p50_ns * 1.0 / b.p50_ns AS speedup_p50
FROM job
JOIN model ON model.id = job.model_id
JOIN run a ON a.job_id = job.id AND a.variant = 'baseline'
JOIN run b ON b.job_id = job.id AND b.variant = 'optimized';

-- One row per sample of a step or of a node left to the interpreter (step < 0).
CREATE VIEW step_sample AS
SELECT t.run_id, t.step, coalesce(s.name, t.name) AS name, coalesce(s.kind, t.kind) AS kind, t.thread,
       sample.key AS iteration, sample.value AS elapsed_ns
FROM step_time t
LEFT JOIN plan_step s ON s.run_id = t.run_id AND s.step = t.step
JOIN json_each(t.elapsed_ns) AS sample;

-- One row per step: its median over all instances, and its share of the median run, or of the sum of all steps where
-- profiling slowed them so that they take longer than a run.
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

-- One row per run with step times: the rest of its median that no step explains.
CREATE VIEW run_unattributed AS
SELECT run_id, run_p50_ns, steps_p50_ns, max(0, run_p50_ns - steps_p50_ns) AS unattributed_ns
FROM (SELECT id AS run_id, p50_ns AS run_p50_ns,
             (SELECT sum(step_stat.p50_ns) FROM step_stat WHERE step_stat.run_id = run.id) AS steps_p50_ns
      FROM run)
WHERE steps_p50_ns IS NOT NULL;

-- One row per node of every stored graph: the frozen one (pass 0) and the one after each pass that changed it.
CREATE VIEW node AS
WITH graph AS (
  SELECT id AS job_id, 0 AS pass, frozen_id AS snapshot_id FROM job WHERE frozen_id IS NOT NULL
  UNION ALL
  SELECT job_id, position, snapshot_id FROM pass_run WHERE snapshot_id IS NOT NULL)
SELECT graph.job_id, graph.pass, n.key AS node,
       max(field.value) FILTER (WHERE field.key = 'parent') AS parent,
       max(field.value) FILTER (WHERE field.key = 'kind') AS kind,
       max(field.value) FILTER (WHERE field.key = 'name') AS name,
       max(field.value) FILTER (WHERE field.key = 'scope') AS scope,
       max(field.value) FILTER (WHERE field.key = 'origins') AS origins,
       max(field.value) FILTER (WHERE field.key = 'attributes') AS attributes
FROM graph
JOIN snapshot ON snapshot.id = graph.snapshot_id
JOIN json_each(snapshot.graph, '$.nodes') AS n
JOIN json_each(n.value) AS field
GROUP BY graph.job_id, graph.pass, n.key;

-- One row per run and precision: share of its steps and of their time. Steps that are not timed count nothing.
CREATE VIEW run_precision AS
SELECT s.run_id AS run_id, s.precision AS precision, count(*) AS steps,
       count(*) * 1.0 / (SELECT count(*) FROM plan_step u WHERE u.run_id = s.run_id) AS share_of_steps,
       sum(t.p50_ns) AS elapsed_ns,
       sum(t.p50_ns) * 1.0 / (SELECT sum(v.p50_ns) FROM step_stat v WHERE v.run_id = s.run_id AND v.step >= 0) AS share_of_time
FROM plan_step s
LEFT JOIN step_stat t ON t.run_id = s.run_id AND t.step = s.step
GROUP BY s.run_id, s.precision;

-- Version 2: what was measured to choose kernels, every candidate with its time. The table of version 1 held a choice
-- alone and was never written.
DROP TABLE tuning;

-- A step with its shapes, or ("plan <sha256>") the choice over a whole plan; valid for one device, ISA, set of library
-- versions and thread count.
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

-- What could compute it, or for a plan: what each node takes that does not stay with the default.
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

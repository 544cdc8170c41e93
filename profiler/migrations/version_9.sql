-- Version 9: the source of models.
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

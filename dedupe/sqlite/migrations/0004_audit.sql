-- Evidence that cannot be changed unnoticed.
-- "chain" is the sum of the last chained row of evidence; empty: there is none.
ALTER TABLE receipts ADD COLUMN chain BLOB NOT NULL DEFAULT x'';

ALTER TABLE evidence ADD COLUMN until INTEGER NOT NULL DEFAULT 0;      -- when the receipt may be forgotten; 0: not
ALTER TABLE evidence ADD COLUMN credential BLOB NOT NULL DEFAULT x'';  -- of the delivery whose transition it is
ALTER TABLE evidence ADD COLUMN sum BLOB NOT NULL DEFAULT x'';         -- continues the chain; empty: of an older version
ALTER TABLE evidence ADD COLUMN checkpoint INTEGER NOT NULL DEFAULT 0; -- that sealed it; 0: none yet

CREATE INDEX evidence_unsealed ON evidence (id) WHERE checkpoint = 0 AND sum <> x'';
CREATE INDEX evidence_sealed ON evidence (checkpoint, id) WHERE checkpoint > 0;

CREATE TABLE checkpoints (
    scope    TEXT    NOT NULL,
    number   INTEGER NOT NULL,
    at       INTEGER NOT NULL,
    oldest   INTEGER NOT NULL,  -- number of the oldest one that was still needed
    previous BLOB    NOT NULL,
    sum      BLOB    NOT NULL,
    leaves   BLOB    NOT NULL,  -- 48 bytes a row: 8 of the event's reference, 8 of until, the row's sum
    PRIMARY KEY (scope, number)
) STRICT, WITHOUT ROWID;

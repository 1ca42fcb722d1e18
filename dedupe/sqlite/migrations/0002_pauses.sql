-- What persons said about holding a scope; the last word counts.
CREATE TABLE pauses (
    id     INTEGER PRIMARY KEY,
    at     INTEGER NOT NULL,
    scope  TEXT    NOT NULL,
    paused INTEGER NOT NULL,
    actor  BLOB    NOT NULL,
    note   BLOB    NOT NULL
) STRICT;

CREATE INDEX pauses_scope ON pauses (scope, id);

-- Each scope is asked for its own, so that a scope with many jobs does not hide those of others.
DROP INDEX receipts_due;
CREATE INDEX receipts_due ON receipts (scope, next_attempt) WHERE state = 3;

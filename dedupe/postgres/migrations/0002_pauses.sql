-- oldest: 1
-- What persons said about holding a scope; the last word counts. A scope may be held that has no receipts yet.
CREATE TABLE {schema}.pauses (
    id     bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at     timestamptz NOT NULL,
    paused boolean     NOT NULL,
    scope  bytea       NOT NULL,
    actor  bytea       NOT NULL,
    note   bytea       NOT NULL
);
CREATE INDEX pauses_scope ON {schema}.pauses (scope, id);

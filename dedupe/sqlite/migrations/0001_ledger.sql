-- One row per (scope, event ID). Times are microseconds since 1970, 0 is none. Bytes that come from outside are blobs.
CREATE TABLE receipts (
    id              INTEGER PRIMARY KEY,
    scope           TEXT    NOT NULL,
    event_id        TEXT    NOT NULL,
    fingerprint     BLOB    NOT NULL,
    binding         BLOB,                       -- of an unsigned ID to the signed content
    credential_id   TEXT    NOT NULL,
    event_type      BLOB    NOT NULL,
    object          BLOB    NOT NULL,
    trace           BLOB    NOT NULL,
    state           INTEGER NOT NULL,           -- 1 claimed 2 retryable 3 queued 4 applied 5 dead 6 closed
    reason          TEXT    NOT NULL,
    attempt         INTEGER NOT NULL,
    token           BLOB    NOT NULL,           -- of the last claim
    on_expiry       INTEGER NOT NULL,           -- what the sweeper makes of an expired claim
    created         INTEGER NOT NULL,
    changed         INTEGER NOT NULL,
    lease_until     INTEGER NOT NULL,
    next_attempt    INTEGER NOT NULL,
    expires         INTEGER NOT NULL,
    status          INTEGER NOT NULL,
    response_header BLOB,                       -- NULL: no response is kept
    response_body   BLOB,
    omitted         INTEGER NOT NULL
) STRICT;

CREATE UNIQUE INDEX receipts_key ON receipts (scope, event_id);
CREATE UNIQUE INDEX receipts_binding ON receipts (scope, binding) WHERE binding IS NOT NULL;
CREATE INDEX receipts_lease ON receipts (lease_until) WHERE state = 1;
CREATE INDEX receipts_due ON receipts (next_attempt) WHERE state = 3;
CREATE INDEX receipts_open ON receipts (state, changed) WHERE state IN (2, 3, 5);
CREATE INDEX receipts_expiry ON receipts (expires) WHERE expires > 0;

-- The transitions that were not the happy path.
CREATE TABLE evidence (
    id         INTEGER PRIMARY KEY,
    receipt    INTEGER NOT NULL REFERENCES receipts ON DELETE CASCADE,
    at         INTEGER NOT NULL,
    from_state INTEGER NOT NULL,
    to_state   INTEGER NOT NULL,
    attempt    INTEGER NOT NULL,
    reason     TEXT    NOT NULL,
    status     INTEGER NOT NULL,
    actor      BLOB    NOT NULL,
    note       BLOB    NOT NULL
) STRICT;

CREATE INDEX evidence_receipt ON evidence (receipt);

-- The requests of queued and dead events.
CREATE TABLE jobs (
    receipt INTEGER PRIMARY KEY REFERENCES receipts ON DELETE CASCADE,
    method  BLOB    NOT NULL,
    target  BLOB    NOT NULL,
    host    BLOB    NOT NULL,
    header  BLOB    NOT NULL,
    body    BLOB    NOT NULL,
    expires INTEGER NOT NULL
) STRICT;

CREATE INDEX jobs_expiry ON jobs (expires) WHERE expires > 0;

-- oldest: 1
-- Strings that repeat, told once: scopes (a), origins (a credential, b event type) and reasons (a). The IDs are hashes,
-- not a sequence, so that a failover that loses the last rows cannot give a known ID to another name.
CREATE TABLE {schema}.names (
    kind smallint NOT NULL,
    id   integer  NOT NULL,
    a    bytea    NOT NULL,
    b    bytea    NOT NULL,
    PRIMARY KEY (kind, id),
    UNIQUE (kind, a, b)
);

-- The one row per event. Fixed-width columns first, nothing is NULL (a row with NULLs carries eight more bytes), and
-- everything foreign is bytea. "due" is when the state is due to end: claimed, the lease; queued, the next attempt;
-- otherwise when the receipt may be forgotten, or infinity.
CREATE TABLE {schema}.receipts (
    created     timestamptz NOT NULL,
    changed     timestamptz NOT NULL,
    due         timestamptz NOT NULL,
    scope_id    integer     NOT NULL,
    origin_id   integer     NOT NULL,
    reason_id   integer     NOT NULL,
    attempt     integer     NOT NULL,
    state       smallint    NOT NULL,
    status      smallint    NOT NULL,
    on_expiry   smallint    NOT NULL,
    job         smallint    NOT NULL, -- 0 none; 1 kept in jobs; 2 none any more, dropped by the last transition
    token       bytea       NOT NULL,
    fingerprint bytea       NOT NULL,
    event_id    bytea       NOT NULL,
    trace       bytea       NOT NULL,
    binding     bytea       NOT NULL, -- empty: not bound
    object      bytea       NOT NULL,
    head        bytea       NOT NULL, -- of the recorded response; empty: none
    body        bytea       NOT NULL,
    PRIMARY KEY (scope_id, event_id)
) WITH (
    -- Every transition changes an indexed column, so there is nothing to reserve space for. Vacuum early and unthrottled:
    -- each receipt leaves one dead version behind. Never truncate: that takes a lock that stops replicas.
    fillfactor = 100,
    autovacuum_vacuum_scale_factor = 0.02,
    autovacuum_vacuum_threshold = 2000,
    autovacuum_vacuum_cost_delay = 0,
    autovacuum_analyze_scale_factor = 0.05,
    autovacuum_analyze_threshold = 2000,
    vacuum_truncate = false
);

-- Lets the planner think, even of a table with one row, that a look-up by key is selective: for what is not, it does not
-- consider a bitmap scan (see keyGuard in run.go), and plans outlive the time when a table is small.
ALTER TABLE {schema}.receipts ALTER COLUMN event_id SET (n_distinct = 1000000);

CREATE UNIQUE INDEX receipts_binding ON {schema}.receipts (scope_id, binding) WHERE binding <> ''::bytea;

-- Each receipt is in one of these at most. All but the last stay small.
CREATE INDEX receipts_claimed ON {schema}.receipts (due) WHERE state = 1;
CREATE INDEX receipts_queued ON {schema}.receipts (scope_id, due) WHERE state = 3;
CREATE INDEX receipts_waiting ON {schema}.receipts (changed) WHERE state IN (2, 5);

-- Times are rounded down to ten seconds, so that equal keys are stored once: about 7 bytes a receipt instead of 22.
CREATE INDEX receipts_expiry ON {schema}.receipts (date_bin('10 seconds', due, '2000-01-01 00:00:00+00'))
    WHERE state NOT IN (1, 3) AND due < 'infinity';

-- Requests that are kept while their event is queued or dead.
CREATE TABLE {schema}.jobs (
    until    timestamptz NOT NULL, -- may be forgotten, if the event is dead; or infinity
    scope_id integer     NOT NULL,
    event_id bytea       NOT NULL,
    request  bytea       NOT NULL,
    PRIMARY KEY (scope_id, event_id)
) WITH (
    autovacuum_vacuum_scale_factor = 0.02,
    autovacuum_vacuum_threshold = 500,
    autovacuum_vacuum_cost_delay = 0,
    vacuum_truncate = false
);
ALTER TABLE {schema}.jobs ALTER COLUMN event_id SET (n_distinct = 1000000);
CREATE INDEX jobs_until ON {schema}.jobs (until) WHERE until < 'infinity';

-- The transitions that are not the happy path.
CREATE TABLE {schema}.evidence (
    id         bigint      GENERATED ALWAYS AS IDENTITY,
    at         timestamptz NOT NULL,
    scope_id   integer     NOT NULL,
    reason_id  integer     NOT NULL,
    attempt    integer     NOT NULL,
    from_state smallint    NOT NULL,
    to_state   smallint    NOT NULL,
    status     smallint    NOT NULL,
    event_id   bytea       NOT NULL,
    actor      bytea       NOT NULL,
    note       bytea       NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0, vacuum_truncate = false);
ALTER TABLE {schema}.evidence ALTER COLUMN event_id SET (n_distinct = 1000000);
CREATE INDEX evidence_event ON {schema}.evidence (scope_id, event_id, id);

-- For people with psql. Bytes outside ASCII are shown escaped.
CREATE VIEW {schema}.receipts_readable AS
SELECT encode(s.a, 'escape') AS scope,
       encode(r.event_id, 'escape') AS event_id,
       left(encode(sha256(int8send(length(s.a)) || s.a || int8send(length(r.event_id)) || r.event_id), 'hex'), 16)
           AS reference,
       (ARRAY['claimed', 'retryable', 'queued', 'applied', 'dead', 'closed'])[r.state] AS state,
       coalesce(encode(w.a, 'escape'), '') AS reason,
       r.attempt,
       nullif(r.status, 0) AS status,
       coalesce(encode(o.a, 'escape'), '') AS credential,
       coalesce(encode(o.b, 'escape'), '') AS event_type,
       encode(r.object, 'escape') AS object,
       r.created,
       r.changed,
       CASE WHEN r.state = 1 THEN r.due END AS lease_until,
       CASE WHEN r.state = 3 THEN r.due END AS next_attempt,
       CASE WHEN r.state NOT IN (1, 3) AND r.due < 'infinity' THEN r.due END AS expires,
       r.job = 1 AS request_kept,
       r.binding <> ''::bytea AS bound,
       encode(r.fingerprint, 'hex') AS fingerprint,
       encode(r.token, 'hex') AS token,
       length(r.body) AS body_bytes
FROM {schema}.receipts r
LEFT JOIN {schema}.names s ON s.kind = 1 AND s.id = r.scope_id
LEFT JOIN {schema}.names o ON o.kind = 2 AND o.id = r.origin_id
LEFT JOIN {schema}.names w ON w.kind = 3 AND w.id = r.reason_id;

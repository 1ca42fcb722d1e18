-- oldest: 1
-- Evidence that cannot be changed unnoticed. What changes is the catalogue, and the small table of evidence; but that takes
-- the tables for a moment. Where somebody holds one of them, this step fails and is tried again, so that nobody else waits.
SET LOCAL lock_timeout = '2s';

-- Of the last chained row of evidence; empty: there is none. A transition continues the chain from here, under the row's lock.
ALTER TABLE {schema}.receipts ADD COLUMN chain bytea NOT NULL DEFAULT ''::bytea;

ALTER TABLE {schema}.evidence
    ADD COLUMN until      timestamptz NOT NULL DEFAULT 'infinity', -- when the receipt may be forgotten, as of this transition
    ADD COLUMN checkpoint bigint      NOT NULL DEFAULT 0,          -- that sealed it; 0: none yet
    ADD COLUMN credential bytea       NOT NULL DEFAULT ''::bytea,  -- of the delivery whose transition it is; empty: nobody's
    ADD COLUMN sum        bytea       NOT NULL DEFAULT ''::bytea;  -- continues the chain; empty: of a version that did not chain

-- Each chained row is in one of these.
CREATE INDEX evidence_unsealed ON {schema}.evidence (scope_id, id) WHERE checkpoint = 0 AND sum <> ''::bytea;
CREATE INDEX evidence_sealed ON {schema}.evidence (scope_id, checkpoint, id) WHERE checkpoint > 0;

CREATE TABLE {schema}.checkpoints (
    scope_id integer     NOT NULL,
    number   bigint      NOT NULL,
    at       timestamptz NOT NULL,
    oldest   bigint      NOT NULL, -- number of the oldest one that was still needed
    previous bytea       NOT NULL,
    sum      bytea       NOT NULL,
    leaves   bytea       NOT NULL, -- 48 bytes a row: 8 of the event's reference, 8 of until, the row's sum
    PRIMARY KEY (scope_id, number)
);

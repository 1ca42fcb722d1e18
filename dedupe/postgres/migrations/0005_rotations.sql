-- oldest: 1
-- Who rewrote what is kept under which seal key. There is no key here, only its ID.
CREATE TABLE {schema}.rotations (
    id      bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at      timestamptz NOT NULL,
    sealing bytea       NOT NULL, -- ID of the first key, or "off"
    actor   bytea       NOT NULL,
    note    bytea       NOT NULL
);

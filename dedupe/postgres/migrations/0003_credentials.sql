-- oldest: 1
-- The life of credentials, as replicas saw it in their configuration. There is no secret here, only a fingerprint of it.
CREATE TABLE {schema}.credential_events (
    id          bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at          timestamptz NOT NULL,
    scope       bytea       NOT NULL,
    credential  bytea       NOT NULL,
    change      bytea       NOT NULL,
    status      bytea       NOT NULL,
    fingerprint bytea       NOT NULL,
    replica     bytea       NOT NULL
);
CREATE INDEX credential_events_last ON {schema}.credential_events (scope, credential, id);

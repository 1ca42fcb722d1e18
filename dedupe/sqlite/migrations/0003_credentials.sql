-- The life of credentials, as they were in the configuration. There is no secret here, only a fingerprint of it.
CREATE TABLE credential_events (
    id          INTEGER PRIMARY KEY,
    at          INTEGER NOT NULL,
    scope       TEXT    NOT NULL,
    credential  TEXT    NOT NULL,
    change      TEXT    NOT NULL,
    status      TEXT    NOT NULL,
    fingerprint TEXT    NOT NULL,
    replica     TEXT    NOT NULL
) STRICT;

CREATE INDEX credential_events_last ON credential_events (scope, credential, id);

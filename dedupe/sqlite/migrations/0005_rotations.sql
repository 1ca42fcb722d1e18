-- Who rewrote what is kept under which seal key. There is no key here, only its ID.
CREATE TABLE rotations (
    id      INTEGER PRIMARY KEY,
    at      INTEGER NOT NULL,
    sealing TEXT    NOT NULL,                   -- ID of the first key, or off
    actor   BLOB    NOT NULL,
    note    BLOB    NOT NULL
) STRICT;

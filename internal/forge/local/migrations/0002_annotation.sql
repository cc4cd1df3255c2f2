-- What accounts say about places in changes, under names: each set is replaced as a whole.
CREATE TABLE annotation (
    repository INTEGER NOT NULL,
    number     INTEGER NOT NULL,
    account    TEXT    NOT NULL,
    name       TEXT    NOT NULL,
    position   INTEGER NOT NULL,
    file       TEXT    NOT NULL,
    line       INTEGER NOT NULL, -- 0 is the whole file
    level      TEXT    NOT NULL CHECK (level IN ('refusal', 'warning', 'notice')),
    title      TEXT    NOT NULL,
    message    TEXT    NOT NULL,
    hint       TEXT    NOT NULL,
    more       INTEGER NOT NULL, -- annotations that are not kept
    PRIMARY KEY (repository, number, account, name, position)
) STRICT, WITHOUT ROWID;

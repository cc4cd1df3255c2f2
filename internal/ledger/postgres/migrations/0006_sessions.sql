-- Sessions of people that were signed out, until they would have ended by themselves: all servers of a ledger heed them.
CREATE TABLE ended_session (
    name  TEXT   COLLATE "C" PRIMARY KEY, -- a hash
    until BIGINT NOT NULL
);

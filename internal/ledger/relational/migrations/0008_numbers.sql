-- Numbers that grow, for all servers that share this ledger.
CREATE TABLE counter (
    name   TEXT   PRIMARY KEY,
    number BIGINT NOT NULL -- the last one
);

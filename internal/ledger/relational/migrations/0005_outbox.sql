-- Where messages are sent to.
CREATE TABLE receiver (
    name       TEXT   PRIMARY KEY,
    since      BIGINT NOT NULL, -- events before are not for it
    read_until BIGINT NOT NULL  -- the time of the newest step that was read for messages
);

-- Messages to receivers. Those that are delivered or given up are kept for a while, so that none is sent again.
CREATE TABLE message (
    receiver TEXT   NOT NULL,
    id       TEXT   NOT NULL, -- of the event
    at       BIGINT NOT NULL, -- when the event happened
    queued   BIGINT NOT NULL,
    due      BIGINT NOT NULL, -- the next attempt, or when the claim of a server expires
    attempts BIGINT NOT NULL,
    state    TEXT   NOT NULL, -- pending, delivered, dead or dropped
    finished BIGINT NOT NULL,
    error    TEXT   NOT NULL, -- of the last attempt
    event    TEXT   NOT NULL, -- JSON
    PRIMARY KEY (receiver, id)
);
CREATE INDEX message_due ON message (receiver, due) WHERE state = 'pending';
CREATE INDEX message_at ON message (at);

-- A server of an earlier version that still runs must not store its words.
ALTER TABLE promotion_step ADD CONSTRAINT promotion_step_states
    CHECK (kind <> 'stateChanged' OR detail !~ '"phase": ?"(empty|promoted|refused|deploying|verifying|deployed|aborted)"');

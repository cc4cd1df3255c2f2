-- What is not ready is little, and looked for among all that follow a source. Those outcomes have ids from 2 * 2^60 on.
CREATE INDEX reconciler_state_unready ON reconciler_state (source_id, outcome_id) WHERE outcome_id >= 2305843009213693952;

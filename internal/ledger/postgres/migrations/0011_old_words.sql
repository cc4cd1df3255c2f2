-- A server of an earlier version that still runs must not store its words.
ALTER TABLE promotion_step ADD CONSTRAINT promotion_step_words CHECK (kind NOT IN ('entered', 'arrived', 'decided', 'shown', 'ordered', 'fulfilled'));

-- The states of commits are stored with the words of the reference. The texts that are replaced cannot be part of a string, in which quotes are
-- escaped.
UPDATE promotion_step SET detail = REPLACE(detail, '"phase": "', '"phase":"') WHERE kind = 'stateChanged' AND detail LIKE '%"phase": "%';
UPDATE promotion_step SET detail =
    REPLACE(REPLACE(REPLACE(REPLACE(REPLACE(REPLACE(REPLACE(detail,
        '"phase":"empty"', '"phase":"outside"'),
        '"phase":"promoted"', '"phase":"proposed"'),
        '"phase":"refused"', '"phase":"rejected"'),
        '"phase":"deploying"', '"phase":"applying"'),
        '"phase":"verifying"', '"phase":"checking"'),
        '"phase":"deployed"', '"phase":"good"'),
        '"phase":"aborted"', '"phase":"takenBack"')
WHERE kind = 'stateChanged';

-- Results of rounds have states, too. The next rounds store them again.
UPDATE work_unit SET result = '';

-- That a batch has no clusters any more is a step of its own, which was told from others by its reason.
UPDATE promotion_step SET kind = 'emptied' WHERE kind = 'started' AND reason = 'its clusters are in other batches now';

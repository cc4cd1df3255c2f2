-- Whether a status has to succeed before its commit is merged.
ALTER TABLE status ADD COLUMN required INTEGER NOT NULL DEFAULT 0;
-- Kalypso does not set again what it has set on open pull requests.
UPDATE status SET required = 1 WHERE context IN ('kalypso/deletions', 'kalypso/checks', 'kalypso/scan');

-- The contents of which nothing may be removed, by the reason.
SELECT (SELECT COUNT(*) FROM (SELECT sha256 FROM holdings WHERE sha256 IS NOT NULL GROUP BY sha256) d)
         + (SELECT COUNT(*) FROM holdings WHERE sha256 IS NULL AND shared = 0)
         - (SELECT COUNT(*) FROM replicated) AS few,
       (SELECT COUNT(*) FROM holdings WHERE sha256 IS NULL AND shared = 1) AS undecided,
       (SELECT COUNT(*) FROM seen_twice) AS seen_twice,
       (SELECT COUNT(*) FROM too_long) AS too_long,
       (SELECT COUNT(*) FROM (SELECT sha256 FROM keeping GROUP BY sha256) k)
         - (SELECT COUNT(*) FROM keepers) AS protected

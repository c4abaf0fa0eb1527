-- The contents of a host of which a name matches a protected pattern, with the number of the
-- pattern. A path that is not UTF-8 has patterns of its own.
SELECT DISTINCT n.host, n.sha256, p.number
FROM replicated_names n
JOIN sources s ON s.host = n.host AND s.source = n.source
JOIN protected p ON p.host = n.host
WHERE CONCAT(CASE WHEN s.path = '/' THEN '' ELSE s.path END, '/', n.path)
      LIKE CASE WHEN s.path_base64 IS NULL AND n.path_base64 IS NULL THEN p.pattern
                ELSE p.inexact_pattern END ESCAPE '!'

-- Each of these contents on each host that has it, and whether the host keeps it: protected ones,
-- then the hosts that the user prefers, then the others by name, until enough hosts keep it.
SELECT o.host, o.sha256, o.size, o.id, o.inodes,
       CASE WHEN o.protected = 1 OR o.place <= k.replicas THEN 1 ELSE 0 END AS keeps
FROM (SELECT h.host, h.sha256, h.size, h.id, h.inodes, h.protected,
             ROW_NUMBER() OVER (PARTITION BY h.sha256
                                ORDER BY h.protected DESC, h.preference, h.host) AS place
      FROM (SELECT h.host, h.sha256, h.size, h.id, h.inodes,
                   CASE WHEN p.host IS NULL THEN 0 ELSE 1 END AS protected,
                   COALESCE(f.place, 1000000) AS preference
            FROM holdings h
            JOIN replicated r ON r.sha256 = h.sha256
            LEFT JOIN (SELECT DISTINCT host, sha256 FROM protections) p
              ON p.host = h.host AND p.sha256 = h.sha256
            LEFT JOIN preferences f ON f.host = h.host
            LEFT JOIN seen_twice s ON s.sha256 = h.sha256
            LEFT JOIN too_long t ON t.sha256 = h.sha256
            WHERE s.sha256 IS NULL AND t.sha256 IS NULL) h) o
CROSS JOIN keep_replicas k

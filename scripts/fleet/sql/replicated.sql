-- The contents that are on more hosts than must keep them.
SELECT r.sha256, r.size, r.replicas
FROM (SELECT sha256, MIN(size) AS size, COUNT(*) AS replicas
      FROM holdings
      WHERE sha256 IS NOT NULL
      GROUP BY sha256) r
JOIN keep_replicas k ON r.replicas > k.replicas

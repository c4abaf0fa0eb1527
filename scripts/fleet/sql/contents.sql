-- Each content once. "undecided" is 1 if it is only known on one host, and another host can have it,
-- because a file of this size was not read. "host" and "id" are those of one of its files.
SELECT k.content, k.size, k.sha256, k.replicas, k.inodes, k.host, k.id,
       CASE WHEN k.replicas = 1 AND (u.low <> k.host OR u.high <> k.host) THEN 1
            ELSE 0 END AS undecided
FROM (SELECT content, size, MIN(sha256) AS sha256, COUNT(*) AS replicas,
             CAST(SUM(inodes) AS BIGINT) AS inodes, MIN(host) AS host,
             MIN_BY(id, host) AS id
      FROM holdings
      WHERE sha256 IS NOT NULL
      GROUP BY content, size) k
LEFT JOIN (SELECT size, MIN(host) AS low, MAX(host) AS high
           FROM unread
           GROUP BY size) u ON u.size = k.size
UNION ALL
SELECT content, size, NULL AS sha256, 1 AS replicas, inodes, host, id,
       shared AS undecided
FROM holdings
WHERE sha256 IS NULL

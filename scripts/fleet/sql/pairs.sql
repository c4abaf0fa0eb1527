-- For each two hosts, what the first has and the other lacks. Undecided is what the other may have.
SELECT a.host, b.host AS other,
       CAST(COALESCE(t.contents, 0) - COALESCE(c.contents, 0) - COALESCE(p.contents, 0)
            + COALESCE(k.contents, 0) AS BIGINT) AS contents,
       CAST(COALESCE(t.bytes, 0) - COALESCE(c.bytes, 0) - COALESCE(p.bytes, 0)
            + COALESCE(k.bytes, 0) AS DECIMAL(38, 0)) AS bytes,
       CAST(COALESCE(p.contents, 0) - COALESCE(k.contents, 0) AS BIGINT) AS undecided_contents,
       CAST(COALESCE(p.bytes, 0) - COALESCE(k.bytes, 0) AS DECIMAL(38, 0)) AS undecided_bytes
FROM hosts a
JOIN hosts b ON b.host <> a.host
LEFT JOIN (SELECT host, COUNT(*) AS contents, SUM(CAST(size AS DECIMAL(38, 0))) AS bytes
           FROM holdings
           GROUP BY host) t ON t.host = a.host
LEFT JOIN common c ON c.host = a.host AND c.other = b.host
LEFT JOIN possible p ON p.host = a.host AND p.other = b.host
LEFT JOIN known_possible k ON k.host = a.host AND k.other = b.host
ORDER BY 4 DESC, a.host, b.host

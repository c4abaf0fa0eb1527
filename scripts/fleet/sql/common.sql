-- For each two hosts, the contents that both have.
SELECT a.host, b.host AS other, CAST(SUM(s.contents) AS BIGINT) AS contents, SUM(s.bytes) AS bytes
FROM host_sets s
JOIN holdings a ON a.content = s.content AND a.size = s.size
JOIN holdings b ON b.content = s.content AND b.size = s.size AND b.host <> a.host
GROUP BY a.host, b.host

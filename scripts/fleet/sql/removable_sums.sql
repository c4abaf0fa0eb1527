-- The files that each host may remove: names, the sum of the sizes of all names, files and bytes.
SELECT k.host, CAST(SUM(f.names) AS BIGINT) AS names,
       SUM(CAST(f.size AS DECIMAL(19, 0)) * CAST(f.names AS DECIMAL(19, 0))) AS name_bytes,
       COUNT(*) AS files, SUM(CAST(f.size AS DECIMAL(38, 0))) AS bytes
FROM keeping k
JOIN replicated_files f ON f.host = k.host AND f.sha256 = k.sha256
WHERE k.keeps = 0
GROUP BY k.host
ORDER BY k.host

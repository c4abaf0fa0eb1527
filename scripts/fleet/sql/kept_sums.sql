-- The contents that each host keeps for others.
SELECT k.host, COUNT(*) AS contents, SUM(CAST(k.size AS DECIMAL(38, 0))) AS bytes
FROM keeping k
JOIN keepers c ON c.sha256 = k.sha256
WHERE k.keeps = 1
GROUP BY k.host
ORDER BY k.host

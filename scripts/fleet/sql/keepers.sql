-- The contents that a host may remove, with the hosts that keep them.
SELECT k.sha256, ARRAY_SORT(ARRAY_AGG(k.host)) AS keepers
FROM keeping k
JOIN (SELECT DISTINCT sha256 FROM keeping WHERE keeps = 0) r ON r.sha256 = k.sha256
WHERE k.keeps = 1
GROUP BY k.sha256

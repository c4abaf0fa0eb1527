-- The sets of hosts that keep what a host may remove.
SELECT DISTINCT k.host, c.keepers
FROM keeping k
JOIN keepers c ON c.sha256 = k.sha256
WHERE k.keeps = 0
ORDER BY k.host

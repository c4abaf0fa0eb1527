-- Sizes of which a host has contents without a digest, although another host has files of this size.
SELECT host, size, COUNT(*) AS contents
FROM holdings
WHERE sha256 IS NULL AND shared = 1
GROUP BY host, size

-- For each protected pattern, the contents that it protects.
SELECT p.number, COUNT(s.sha256) AS contents
FROM protected p
LEFT JOIN protections s ON s.number = p.number
GROUP BY p.number
ORDER BY p.number

-- Folders with such a file in them or below.
SELECT DISTINCT f.host, f.source, f.ancestor AS folder
FROM folder_states s
JOIN folders f ON f.host = s.host AND f.source = s.source AND f.folder = s.folder
WHERE s.uncovered > 0

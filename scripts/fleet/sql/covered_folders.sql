-- The outermost folders without such a file, and the folders in them that have files.
SELECT DISTINCT f.host, f.source, f.ancestor AS top, f.folder
FROM folder_states s
JOIN folders f ON f.host = s.host AND f.source = s.source AND f.folder = s.folder
LEFT JOIN uncovered_folders u
  ON u.host = f.host AND u.source = f.source AND u.folder = f.ancestor
LEFT JOIN uncovered_folders a
  ON a.host = f.host AND a.source = f.source AND a.folder = f.above
WHERE s.uncovered = 0 AND u.folder IS NULL AND (f.depth = 0 OR a.folder IS NOT NULL)
